package main

import (
	"github.com/spf13/cobra"
)

func newClassifyCmd(e *env) *cobra.Command { return &cobra.Command{Use: "classify DIR"} }
