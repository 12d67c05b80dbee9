//go:build !linux

package report

func swap(tmp, dir string) error { return swapByRename(tmp, dir) }
