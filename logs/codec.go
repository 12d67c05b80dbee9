package logs

import (
	"sync"

	"github.com/apache/arrow/go/v17/parquet/compress"
	"github.com/klauspost/compress/zstd"
)

// pooledZstd is the zstd codec of arrow v17 without the new encoder that it makes for every page.
type pooledZstd struct{ compress.Codec }

// The encoder is safe for concurrent use; what it writes depends on nothing but its input.
var tableEncoder = sync.OnceValue(func() *zstd.Encoder {
	enc, err := zstd.NewWriter(nil, zstd.WithZeroFrames(true), zstd.WithEncoderCRC(false), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(2))
	if err != nil {
		panic("logs: zstd encoder options: " + err.Error())
	}
	return enc
})

func (pooledZstd) Encode(dst, src []byte) []byte { return tableEncoder().EncodeAll(src, dst[:0]) }

func (c pooledZstd) EncodeLevel(dst, src []byte, _ int) []byte { return c.Encode(dst, src) }

// useCodec puts the codec in place. It comes before the first Parquet file is written or read, since
// arrow keeps its codecs in a map without a lock.
var useCodec = sync.OnceFunc(func() {
	old, err := compress.GetCodec(compress.Codecs.Zstd)
	if err != nil {
		panic("logs: arrow without zstd: " + err.Error())
	}
	compress.RegisterCodec(compress.Codecs.Zstd, pooledZstd{old})
})
