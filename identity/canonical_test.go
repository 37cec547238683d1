package identity

import (
	"strings"
	"testing"

	"golang.org/x/text/secure/precis"
)

// What a form is made of has that form: another pass changes nothing, so that a value
// that was stored in canonical form is the same caller.
func FuzzCanonicalFormIsStable(f *testing.F) {
	for _, value := range []string{
		"Ann", "ann@Example.com", "\uff21\u0308nn", "\u1e9e@x", "\u0130", "\u0345\u0301@x.y", "\ufb03@x.y", "\u212a\u212b", "\u03a3\u03c2",
		"\u01c5@stra\u00dfe.example", "a\u0308\u0323@b\u00fccher.example", "\u1f80\u0345@x", "\uff76\uff9e", "\u200c\u0930\u094d\u200d", "\u2126\u1fbe",
	} {
		f.Add(value)
	}
	forms := map[string]func(string) (string, error){
		"user":     func(s string) (string, error) { return prepare("user ID", precis.UsernameCasePreserved, s) },
		"username": func(s string) (string, error) { return prepare("username", precis.UsernameCaseMapped, s) },
		"email":    canonicalEmail,
	}
	f.Fuzz(func(t *testing.T, value string) {
		for name, form := range forms {
			once, err := form(value)
			if err != nil {
				continue
			}
			if twice, err := form(once); err != nil || twice != once {
				t.Errorf("%s: %q becomes %q and that %q, %v", name, value, once, twice, err)
			}
			if once == "" || strings.TrimSpace(once) != once {
				t.Errorf("%s: %q becomes %q", name, value, once)
			}
		}
		if once := foldLocal(value); foldLocal(once) != once {
			t.Errorf("folding %q gives %q and then %q", value, once, foldLocal(once))
		}
	})
}
