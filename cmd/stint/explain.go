package main

import (
	"github.com/spf13/cobra"
)

func newExplainCmd(e *env) *cobra.Command { return &cobra.Command{Use: "explain DIR ID"} }
