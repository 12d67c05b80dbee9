package logs

// recent is a map that forgets what was set long ago, so that it does not grow with the file that is read: it keeps at
// least the last recentKeys keys.
type recent[V any] struct{ young, old map[string]V }

const recentKeys = 1 << 14

func (r *recent[V]) set(key string, v V) {
	if len(r.young) >= recentKeys {
		r.old, r.young = r.young, nil
	}
	if r.young == nil {
		r.young = map[string]V{}
	}
	r.young[key] = v
}

func (r *recent[V]) get(key string) (V, bool) {
	v, ok := r.young[key]
	if !ok {
		v, ok = r.old[key]
	}
	return v, ok
}
