package classify

import (
	_ "embed"
	"fmt"
	"slices"
	"sync"

	"github.com/goccy/go-yaml"
)

//go:embed attention.yaml
var attentionYAML []byte

// Attention is a made item of an audit whose answer is beyond doubt.
type Attention struct {
	Name  string `yaml:"name"`
	Leaf  string `yaml:"leaf"`
	Texts []struct {
		ID      string `yaml:"id"`
		Channel string `yaml:"channel"`
		Text    string `yaml:"text"`
	} `yaml:"texts"`
}

// attentions reads the embedded file once. It panics if that is broken, which a test would have seen.
var attentions = sync.OnceValue(func() []Attention {
	var out []Attention
	if err := yaml.UnmarshalWithOptions(attentionYAML, &out, yaml.Strict()); err != nil {
		panic(fmt.Sprintf("the embedded made items: %v", err))
	}
	return out
})

// Attentions are the made items.
func Attentions() []Attention { return slices.Clone(attentions()) }

// attention returns the made item of this name, or nil.
func attention(name string) *Attention {
	for i := range attentions() {
		if a := &attentions()[i]; a.Name == name {
			return a
		}
	}
	return nil
}
