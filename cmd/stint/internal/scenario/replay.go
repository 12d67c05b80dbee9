package scenario

import "fmt"

// Replay makes a scenario again from its seed and the operations that were drawn for it, without drawing them:
// whoever chose them, the result is the same as it was. opt.Changes and opt.Schedule are not looked at. An operation
// without a title gets its own; one whose id or label does not belong to its parameters is refused.
func Replay(opt Options, operations []Operation) (*Scenario, error) {
	opt.Changes = len(operations)
	sc, err := begin(&opt)
	if err != nil {
		return nil, err
	}
	for i, op := range operations {
		turn := i + 1
		before := sc.Steps[i].Schema
		next, err := sound(before, &op, turn)
		if err != nil {
			return nil, fmt.Errorf("replaying scenario %s, turn %d: %w", opt.Name, turn, err)
		}
		sc.Steps = append(sc.Steps, nextStep(opt, before, next, op, turn))
	}
	return sc, nil
}

// sound checks an operation that comes from outside, gives it a title if it has none and applies it.
func sound(before *Schema, op *Operation, turn int) (*Schema, error) {
	kind := operationNamed(op.Name)
	switch {
	case kind == nil:
		return nil, fmt.Errorf("unknown operation %q", op.Name)
	case op.ID != OperationID(op.Name, op.Params):
		return nil, fmt.Errorf("the id %q does not belong to the parameters of the operation, which give %q", op.ID, OperationID(op.Name, op.Params))
	case op.Label != kind.label:
		return nil, fmt.Errorf("%s has the label %q, not %q", op.Name, kind.label, op.Label)
	}
	next, err := Apply(before, *op, turn)
	if err != nil {
		return nil, err
	}
	if op.Title == "" {
		op.Title = kind.title(before, op.Params)
	}
	return next, nil
}
