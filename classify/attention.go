package classify

import (
	_ "embed"
	"fmt"

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

// Attentions are the made items. It panics if the embedded file is broken, which a test would have seen.
func Attentions() []Attention {
	var out []Attention
	if err := yaml.UnmarshalWithOptions(attentionYAML, &out, yaml.Strict()); err != nil {
		panic(fmt.Sprintf("the embedded made items: %v", err))
	}
	return out
}

func attention(name string) *Attention {
	for _, a := range Attentions() {
		if a.Name == name {
			return &a
		}
	}
	return nil
}
