package originlock

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
)

// That every digest is looked at cannot be seen from outside, and measuring it would
// be a matter of luck. So the code is looked at: the loop of accepts compares in
// constant time and has no way out and no branch.
func TestNoEarlyExit(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "lock.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	loops, compares := 0, 0
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Name.Name != "accepts" {
			continue
		}
		ast.Inspect(f.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.RangeStmt:
				loops++
			case *ast.SelectorExpr:
				if n.Sel.Name == "ConstantTimeCompare" {
					compares++
				}
			case *ast.IfStmt, *ast.SwitchStmt, *ast.BranchStmt:
				t.Errorf("accepts has a %T", n)
			case *ast.BinaryExpr:
				if n.Op == token.LAND || n.Op == token.LOR {
					t.Errorf("accepts has a %s", n.Op)
				}
			}
			return true
		})
		last := len(f.Body.List) - 1
		ast.Inspect(f.Body, func(n ast.Node) bool {
			if r, ok := n.(*ast.ReturnStmt); ok && ast.Stmt(r) != f.Body.List[last] {
				t.Error("accepts returns before its end")
			}
			return true
		})
	}
	if loops != 1 || compares != 1 {
		t.Errorf("accepts has %d loops and %d constant-time comparisons, want one of each", loops, compares)
	}
}
