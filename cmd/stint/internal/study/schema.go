package study

import (
	"encoding/json"
	"fmt"
)

// Schema returns the JSON schema of study.yaml for editors, made from the table that Parse checks against.
func Schema() []byte {
	root := sectionSchema(studyKeys())
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "study.yaml of stint"
	b, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("study: encoding the JSON schema: %v", err)) // maps of strings and numbers always encode
	}
	return append(b, '\n')
}

type schema = map[string]any

// sectionSchema is an object with exactly the keys of a section.
func sectionSchema(s *section) schema {
	properties, required := schema{}, []string{}
	for i := range s.keys {
		k := &s.keys[i]
		properties[k.name] = keySchema(k)
		if k.required {
			required = append(required, k.name)
		}
	}
	out := schema{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

// keySchema is what a key takes: one value, a list of values, or either.
func keySchema(k *key) schema {
	one := formSchema(k)
	list := schema{"type": "array", "items": one}
	if k.many || k.required {
		list["minItems"] = 1
	}
	var out schema
	switch {
	case k.list:
		out = list
	case k.many:
		out = schema{"anyOf": []schema{one, list}}
	default:
		out = one
	}
	out["description"] = k.doc
	return out
}

// formSchema is one value of a key.
func formSchema(k *key) schema {
	switch k.form {
	case formWord:
		return schema{"enum": k.choices}
	case formCount:
		out := schema{"type": "integer", "minimum": k.min}
		if k.max > 0 {
			out["maximum"] = k.max
		}
		return out
	case formSeed:
		return schema{"type": "integer", "minimum": 0}
	case formSize:
		return schema{"anyOf": []schema{
			{"type": "integer", "exclusiveMinimum": 0},
			{"type": "string", "pattern": `^[0-9_]+(\.[0-9]+)?\s*(k|K|M|G|KiB|MiB|GiB|TiB)?$`},
		}}
	case formDuration:
		return schema{"type": "string", "pattern": `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`}
	case formMoney, formNumber:
		return schema{"type": "number", "minimum": 0}
	case formShare:
		return schema{"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
	case formFlag:
		return schema{"type": "boolean"}
	case formSection:
		s := sectionSchema(k.section)
		if k.scalar != "" {
			return schema{"anyOf": []schema{s, formSchema(k.section.key(k.scalar))}}
		}
		return s
	case formNamed:
		return schema{"type": "object", "additionalProperties": sectionSchema(k.section)}
	case formPairs:
		pair := schema{"type": "array", "items": schema{"type": "string"}, "minItems": 2, "maxItems": 2}
		return schema{"anyOf": []schema{{"const": "all"}, {"type": "array", "items": pair, "minItems": 1}}}
	case formSampler:
		return schema{"anyOf": []schema{
			{"const": "rules"},
			{"type": "object", "properties": schema{"llm": schema{"type": "string"}}, "required": []string{"llm"}, "additionalProperties": false},
		}}
	}
	return schema{"type": []string{"string", "number"}}
}
