package scenario

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

const secondsPerDay = 24 * 60 * 60

// FormatDate returns the date so many days after 1970-01-01 as YYYY-MM-DD.
func FormatDate(days int64) string {
	return time.Unix(days*secondsPerDay, 0).UTC().Format(time.DateOnly)
}

// ParseDate reads YYYY-MM-DD and returns days since 1970-01-01. It reports false for anything that is
// not exactly such a string or no day of the calendar (2023-02-29).
func ParseDate(s string) (days int64, ok bool) {
	if len(s) != len(time.DateOnly) {
		return 0, false
	}
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return 0, false
	}
	return t.Unix() / secondsPerDay, true
}

// datetimeForm is the only form in which datetimes are taken and returned.
const datetimeForm = "2006-01-02T15:04:05Z"

// FormatDatetime returns the moment so many seconds after 1970-01-01T00:00:00Z as YYYY-MM-DDTHH:MM:SSZ.
func FormatDatetime(seconds int64) string { return time.Unix(seconds, 0).UTC().Format(datetimeForm) }

// ParseDatetime reads YYYY-MM-DDTHH:MM:SSZ and returns seconds since 1970-01-01T00:00:00Z. It reports false for anything
// that is not exactly such a string or no moment of the calendar (2023-02-29, 24:00:00, a leap second).
func ParseDatetime(s string) (seconds int64, ok bool) {
	if len(s) != len(datetimeForm) {
		return 0, false
	}
	t, err := time.Parse(datetimeForm, s)
	if err != nil || t.Format(datetimeForm) != s {
		return 0, false
	}
	return t.Unix(), true
}

// dateDays returns the days since 1970-01-01 of a calendar date.
func dateDays(year int, month time.Month, day int) int64 {
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Unix() / secondsPerDay
}

// FormatDecimal writes hundredths as a JSON number without superfluous zeros: 1250 is 12.5, -5 is -0.05.
func FormatDecimal(hundredths int64) string {
	sign, abs := "", uint64(hundredths)
	if hundredths < 0 {
		sign, abs = "-", -abs
	}
	s := sign + strconv.FormatUint(abs/100, 10)
	switch cents := abs % 100; {
	case cents == 0:
		return s
	case cents%10 == 0:
		return s + "." + strconv.FormatUint(cents/10, 10)
	case cents < 10:
		return s + ".0" + strconv.FormatUint(cents, 10)
	default:
		return s + "." + strconv.FormatUint(cents, 10)
	}
}

// JSON returns v as encoding/json writes it for a field of this type: string, bool, int64 (integer, ref),
// json.Number (decimal) or nil for a nil v.
func (f *Field) JSON(v *Value) any {
	if v == nil {
		return nil
	}
	switch f.Type {
	case Integer, Ref:
		return v.Int
	case Decimal:
		return json.Number(FormatDecimal(v.Int))
	case Boolean:
		return v.Bool
	case Date:
		return FormatDate(v.Int)
	case Datetime:
		return FormatDatetime(v.Int)
	case String, Enum:
		return v.Str
	}
	return nil
}

// Literal returns v as JSON text, the form in which specifications show it.
func (f *Field) Literal(v *Value) string {
	b, err := json.Marshal(f.JSON(v))
	if err != nil {
		// Only a decimal could fail, and FormatDecimal always writes a valid number.
		panic("scenario: " + err.Error())
	}
	return string(b)
}

// Bound returns a limit of the field's range as text: 5, 0.5 or 2024-01-31.
func (f *Field) Bound(limit int64) string {
	switch f.Type {
	case Decimal:
		return FormatDecimal(limit)
	case Date:
		return FormatDate(limit)
	}
	return strconv.FormatInt(limit, 10)
}

// human turns a public name into words: spare_part is "spare part".
func human(name string) string { return strings.ReplaceAll(name, "_", " ") }

// article puts "a" or "an" before a word, by its sound as far as spelling tells.
func article(word string) string {
	for _, p := range []string{"uni", "use", "eu", "one"} {
		if strings.HasPrefix(word, p) {
			return "a " + word
		}
	}
	if word != "" && strings.ContainsRune("aeiou", rune(word[0])) {
		return "an " + word
	}
	return "a " + word
}

// capital makes the first letter a capital.
func capital(s string) string {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return s
	}
	return string(s[0]-'a'+'A') + s[1:]
}

// code puts a name between backticks.
func code(name string) string { return "`" + name + "`" }

// listing joins words as prose: "a", "a and b", "a, b and c".
func listing(words []string) string {
	switch len(words) {
	case 0:
		return ""
	case 1:
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
