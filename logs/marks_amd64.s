#include "textflag.h"

DATA ·quoteByte+0(SB)/1, $0x22
GLOBL ·quoteByte(SB), RODATA|NOPTR, $1
DATA ·backslashByte+0(SB)/1, $0x5c
GLOBL ·backslashByte(SB), RODATA|NOPTR, $1
DATA ·controlByte+0(SB)/1, $0x1f
GLOBL ·controlByte(SB), RODATA|NOPTR, $1

// func marksAVX2(b *[64]byte) (stops, backs uint64)
//
// A control character is its own minimum with 0x1f.
TEXT ·marksAVX2(SB), NOSPLIT, $0-24
	MOVQ         b+0(FP), AX
	VPBROADCASTB ·quoteByte(SB), Y2
	VPBROADCASTB ·backslashByte(SB), Y3
	VPBROADCASTB ·controlByte(SB), Y4
	VMOVDQU      (AX), Y0
	VMOVDQU      32(AX), Y1
	VPMINUB      Y0, Y4, Y5
	VPMINUB      Y1, Y4, Y6
	VPCMPEQB     Y0, Y5, Y5
	VPCMPEQB     Y1, Y6, Y6
	VPCMPEQB     Y0, Y2, Y7
	VPCMPEQB     Y1, Y2, Y8
	VPCMPEQB     Y0, Y3, Y0
	VPCMPEQB     Y1, Y3, Y1
	VPOR         Y5, Y7, Y5
	VPOR         Y6, Y8, Y6
	VPMOVMSKB    Y5, AX
	VPMOVMSKB    Y6, BX
	VPMOVMSKB    Y0, CX
	VPMOVMSKB    Y1, DX
	VZEROUPPER
	SHLQ         $32, BX
	ORQ          BX, AX
	SHLQ         $32, DX
	ORQ          DX, CX
	MOVQ         AX, stops+8(FP)
	MOVQ         CX, backs+16(FP)
	RET
