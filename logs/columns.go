package logs

import (
	"fmt"
	"reflect"
	"strconv"
	"time"
	"unsafe"
)

// columnKind is the type of a table's column.
type columnKind uint8

const (
	textColumn columnKind = iota
	intColumn
	uintColumn
	floatColumn
	boolColumn
	timeColumn // milliseconds, UTC
	listColumn // list of text, never null
)

// column is one field of a row struct, found by its col tag.
type column struct {
	name     string
	kind     columnKind
	nullable bool
	index    []int
	offset   uintptr // of the field in its row
	narrow   bool    // an int of 32 bits
}

// columnsOf lists the columns of a row type in the order of its fields.
func columnsOf[T any]() []column {
	return fieldColumns(reflect.TypeFor[T](), nil)
}

func fieldColumns(t reflect.Type, prefix []int) []column { return columnsAt(t, prefix, 0) }

func columnsAt(t reflect.Type, prefix []int, offset uintptr) []column {
	var cols []column
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(append([]int{}, prefix...), i)
		if f.Anonymous {
			cols = append(cols, columnsAt(f.Type, index, offset+f.Offset)...)
			continue
		}
		c := column{name: f.Tag.Get("col"), index: index, offset: offset + f.Offset}
		ft := f.Type
		if ft.Kind() == reflect.Pointer {
			c.nullable, ft = true, ft.Elem()
		}
		switch {
		case ft == reflect.TypeFor[time.Time]():
			c.kind = timeColumn
		case ft.Kind() == reflect.String:
			c.kind = textColumn
		case ft.Kind() == reflect.Int, ft.Kind() == reflect.Int64:
			c.kind, c.narrow = intColumn, ft.Size() == 4
		case ft.Kind() == reflect.Uint64:
			c.kind = uintColumn
		case ft.Kind() == reflect.Float64:
			c.kind = floatColumn
		case ft.Kind() == reflect.Bool:
			c.kind = boolColumn
		case ft.Kind() == reflect.Slice && ft.Elem().Kind() == reflect.String:
			c.kind = listColumn
		default:
			panic("logs: column " + f.Name + " has a type no table can hold")
		}
		cols = append(cols, c)
	}
	return cols
}

// value returns the field of a row and whether it is null.
func (c *column) value(row reflect.Value) (v reflect.Value, null bool) {
	v = row.FieldByIndex(c.index)
	if c.nullable {
		if v.IsNil() {
			return v, true
		}
		v = v.Elem()
	}
	return v, false
}

// at points to the value in a row, nil if it is null. Rows by the million are written without reflection.
func (c *column) at(row unsafe.Pointer) unsafe.Pointer {
	p := unsafe.Add(row, c.offset)
	if c.nullable {
		return *(*unsafe.Pointer)(p)
	}
	return p
}

func (c *column) intAt(p unsafe.Pointer) int64 {
	if c.narrow {
		return int64(*(*int32)(p))
	}
	return *(*int64)(p)
}

// set stores v, of the column's Go type, in the field of a row.
func (c *column) set(row reflect.Value, v reflect.Value) {
	f := row.FieldByIndex(c.index)
	if c.nullable {
		p := reflect.New(f.Type().Elem())
		p.Elem().Set(v.Convert(f.Type().Elem()))
		f.Set(p)
		return
	}
	f.Set(v.Convert(f.Type()))
}

// text renders a value as a filter sees it; null is "".
func (c *column) text(row reflect.Value) string {
	v, null := c.value(row)
	if null {
		return ""
	}
	switch c.kind {
	case textColumn:
		return v.String()
	case intColumn:
		return strconv.FormatInt(v.Int(), 10)
	case uintColumn:
		return strconv.FormatUint(v.Uint(), 10)
	case floatColumn:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case boolColumn:
		return strconv.FormatBool(v.Bool())
	case timeColumn:
		return v.Interface().(time.Time).UTC().Format(wallLayout)
	}
	return fmt.Sprint(v.Interface())
}
