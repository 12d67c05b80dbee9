package study

import (
	"fmt"
	"slices"
	"strings"
)

// check holds a mapping against a section: every key known and once, every required key there, every value
// of the form its key asks for. The values are read afterwards by readers that may rely on it.
func (s *source) check(n *node, sec *section) error {
	for _, e := range n.entries {
		k := sec.key(e.key)
		if k == nil {
			return s.errorAt(e.place, DidYouMean(e.key, sec.names(), "keys here"), "unknown key %q in %s", e.key, sec.where)
		}
		if err := s.checkValue(e, k); err != nil {
			return err
		}
	}
	for _, k := range sec.keys {
		if k.required && n.get(k.name) == nil {
			return s.errorAt(n.place, fmt.Sprintf("%s: %s", k.name, k.doc), "%s has no %q", sec.where, k.name)
		}
	}
	return nil
}

// checkValue checks the value of one key, a list item by item.
func (s *source) checkValue(e entry, k *key) error {
	v := e.value
	if v.kind == kindNull {
		return s.errorAt(e.place, "give it a value or leave the key out", "%q has no value", e.key)
	}
	switch {
	case k.list && v.kind != kindList:
		return s.errorAt(v.place, fmt.Sprintf("%s: %s", k.name, k.doc), "%q must be a list, not %s", e.key, v.kind)
	case k.list || k.many && v.kind == kindList:
		if len(v.items) == 0 && (k.many || k.required) {
			return s.errorAt(v.place, "give at least one", "the list %q is empty", e.key)
		}
		for _, item := range v.items {
			if err := s.checkOne(e.key, item, k); err != nil {
				return err
			}
		}
		return s.checkTwice(e.key, v, k)
	}
	return s.checkOne(e.key, v, k)
}

// checkTwice refuses a value that stands twice in a list of values.
func (s *source) checkTwice(name string, v *node, k *key) error {
	if k.form == formSection {
		return nil
	}
	seen := map[string]bool{}
	for _, item := range v.items {
		if seen[item.text] {
			return s.errorAt(item.place, "keep one", "%s stands twice in %q", item.text, name)
		}
		seen[item.text] = true
	}
	return nil
}

// checkOne checks one value against the form of its key.
func (s *source) checkOne(name string, v *node, k *key) error {
	switch k.form {
	case formSection:
		if k.scalar != "" && v.kind == kindScalar {
			return s.checkOne(k.scalar, v, k.section.key(k.scalar))
		}
		if v.kind != kindMapping {
			return s.errorAt(v.place, fmt.Sprintf("%s has the keys %s", k.section.where, strings.Join(k.section.names(), ", ")), "%q must be a mapping, not %s", name, v.kind)
		}
		return s.check(v, k.section)
	case formNamed:
		return s.checkNamed(name, v, k)
	case formPairs:
		return s.checkPairs(name, v)
	case formSampler:
		return s.checkSampler(name, v)
	}
	if v.kind != kindScalar {
		return s.errorAt(v.place, fmt.Sprintf("%s: %s", name, k.doc), "%q must be one value, not %s", name, v.kind)
	}
	return s.checkScalar(name, v, k)
}

func (s *source) checkNamed(name string, v *node, k *key) error {
	if v.kind != kindMapping {
		return s.errorAt(v.place, fmt.Sprintf("for example %s: {NAME: {…}}", name), "%q must be a mapping of names, not %s", name, v.kind)
	}
	for _, e := range v.entries {
		if e.value.kind != kindMapping {
			return s.errorAt(e.place, fmt.Sprintf("%s has the keys %s", k.section.where, strings.Join(k.section.names(), ", ")), "%s.%s must be a mapping, not %s", name, e.key, e.value.kind)
		}
		if err := s.check(e.value, k.section); err != nil {
			return err
		}
	}
	return nil
}

func (s *source) checkPairs(name string, v *node) error {
	const advice = "write pairs: all, or pairs: [[CONFIG, CONFIG], …]"
	if v.kind == kindScalar && v.text == "all" {
		return nil
	}
	if v.kind != kindList || len(v.items) == 0 {
		return s.errorAt(v.place, advice, "%q must be `all` or a list of pairs", name)
	}
	for _, p := range v.items {
		if p.kind != kindList || len(p.items) != 2 || p.items[0].kind != kindScalar || p.items[1].kind != kindScalar {
			return s.errorAt(p.place, advice, "a pair must be a list of two configuration names")
		}
	}
	return nil
}

func (s *source) checkSampler(name string, v *node) error {
	switch {
	case v.kind == kindScalar && v.text == "rules":
		return nil
	case v.kind == kindMapping && len(v.entries) == 1 && v.entries[0].key == "llm":
		if m := v.entries[0]; m.value.kind != kindScalar || m.value.text == "" {
			return s.errorAt(m.place, "for example sampler: {llm: glm-5}", "llm must be the name of a model of this file")
		}
		return nil
	}
	return s.errorAt(v.place, "write sampler: rules, or sampler: {llm: MODEL}", "%q must be rules or {llm: MODEL}", name)
}

// checkScalar checks a scalar against the form of its key.
func (s *source) checkScalar(name string, v *node, k *key) error {
	var err error
	advice := fmt.Sprintf("%s: %s", name, k.doc)
	switch k.form {
	case formText:
		if strings.TrimSpace(v.text) == "" {
			err = fmt.Errorf("%q is empty", name)
		}
	case formWord:
		if !slices.Contains(k.choices, v.text) {
			what := name
			if name == "by" || name == "within" {
				what = "factor"
			}
			return s.errorAt(v.place, DidYouMean(v.text, k.choices, name+" is one of"), "unknown %s %q", what, v.text)
		}
	case formCount:
		err = checkCount(v.text, k)
	case formSeed:
		_, err = parseSeed(v.text)
	case formSize:
		_, err = parseSize(v.text)
		advice += "; write it like 200k, 4M or 2GiB"
	case formDuration:
		_, err = parseDuration(v.text)
		advice += "; write it like 90s, 30m or 1h30m"
	case formMoney, formNumber:
		_, err = parseNumber(v.text)
	case formShare:
		var f float64
		if f, err = parseNumber(v.text); err == nil && (f <= 0 || f >= 1) {
			err = fmt.Errorf("%s is not between 0 and 1", v.text)
		}
	case formFlag:
		if v.text != "true" && v.text != "false" || v.quoted {
			err = fmt.Errorf("%q is neither true nor false", v.text)
		}
	}
	if err != nil {
		return s.errorAt(v.place, advice, "%s: %s", name, err)
	}
	return nil
}

func checkCount(text string, k *key) error {
	n, err := parseCount(text)
	switch {
	case err != nil:
		return err
	case n < 0 && k.min <= 0:
		return fmt.Errorf("%d is negative", n)
	case n < k.min && k.max == k.min:
		return fmt.Errorf("%d is unknown; this stint reads %d", n, k.min)
	case n < k.min:
		return fmt.Errorf("%d is too small; at least %d", n, k.min)
	case k.max > 0 && n > k.max && k.min == k.max:
		return fmt.Errorf("%d is unknown; this stint reads %d", n, k.max)
	case k.max > 0 && n > k.max:
		return fmt.Errorf("%d is too large; at most %d", n, k.max)
	}
	return nil
}
