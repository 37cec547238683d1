package rotation_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// secretsFake is a Secrets Manager with one secret, as strict as the real one about
// labels and about the contents of a version.
type secretsFake struct {
	now func() time.Time

	mu       sync.Mutex
	versions map[string]*secretVersion
	changed  time.Time
	puts     int
	onChange func() // called without the lock
}

type secretVersion struct {
	value   string
	has     bool
	labels  []string
	created time.Time
}

const secretARN = "arn:aws:secretsmanager:us-east-1:000000000000:secret:origin-AbCdEf"

func newSecretsFake(now func() time.Time, current string) *secretsFake {
	return &secretsFake{
		now:      now,
		changed:  now(),
		versions: map[string]*secretVersion{"v0": {value: current, has: true, labels: []string{"AWSCURRENT"}, created: now()}},
	}
}

// begin does what RotateSecret does first: a version with a label and no value.
func (f *secretsFake) begin(token string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.versions[token] = &secretVersion{created: f.now()}
	f.move("AWSPENDING", token)
}

func (f *secretsFake) move(label, to string) {
	for _, v := range f.versions {
		v.labels = slices.DeleteFunc(v.labels, func(l string) bool { return l == label })
	}
	if to != "" {
		f.versions[to].labels = append(f.versions[to].labels, label)
	}
	f.changed = f.now()
}

func (f *secretsFake) at(label string) (string, *secretVersion) {
	for id, v := range f.versions {
		if slices.Contains(v.labels, label) {
			return id, v
		}
	}
	return "", nil
}

// valueAt is the value that a label holds, or nothing.
func (f *secretsFake) valueAt(label string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, v := f.at(label); v != nil {
		return v.value
	}
	return ""
}

func (f *secretsFake) versionAt(label string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	id, _ := f.at(label)
	return id
}

// accepted are the values that a lock accepts which asks now.
func (f *secretsFake) accepted() []string {
	var values []string
	for _, label := range []string{"AWSPENDING", "AWSCURRENT", "AWSPREVIOUS"} {
		if v := f.valueAt(label); v != "" {
			values = append(values, v)
		}
	}
	return values
}

type secretsInput struct {
	SecretID            string `json:"SecretId"`
	VersionID           string `json:"VersionId"`
	VersionStage        string
	ClientRequestToken  string
	SecretString        string
	VersionStages       []string
	MoveToVersionID     string `json:"MoveToVersionId"`
	RemoveFromVersionID string `json:"RemoveFromVersionId"`
}

func (f *secretsFake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in secretsInput
	body, _ := io.ReadAll(r.Body)
	if err := json.Unmarshal(body, &in); err != nil {
		http.Error(w, err.Error(), 400)
		return
	}
	action := strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "secretsmanager.")
	f.mu.Lock()
	out, fault := f.do(action, in)
	onChange := f.onChange
	f.mu.Unlock()
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	if fault != "" {
		w.WriteHeader(400)
		json.NewEncoder(w).Encode(map[string]string{"__type": fault, "message": action})
		return
	}
	if onChange != nil && (action == "PutSecretValue" || action == "UpdateSecretVersionStage") {
		onChange()
	}
	json.NewEncoder(w).Encode(out)
}

func (f *secretsFake) do(action string, in secretsInput) (map[string]any, string) {
	if in.SecretID != secretARN {
		return nil, "ResourceNotFoundException"
	}
	switch action {
	case "DescribeSecret":
		stages := map[string][]string{}
		for id, v := range f.versions {
			if len(v.labels) > 0 {
				stages[id] = v.labels
			}
		}
		return map[string]any{"ARN": secretARN, "VersionIdsToStages": stages, "LastChangedDate": float64(f.changed.Unix())}, ""
	case "GetSecretValue":
		id, v := in.VersionID, f.versions[in.VersionID]
		if id == "" {
			id, v = f.at(in.VersionStage)
		}
		if v == nil || !v.has {
			return nil, "ResourceNotFoundException"
		}
		return map[string]any{"ARN": secretARN, "VersionId": id, "SecretString": v.value, "VersionStages": v.labels, "CreatedDate": float64(v.created.Unix())}, ""
	case "PutSecretValue":
		v := f.versions[in.ClientRequestToken]
		if v != nil && v.has && v.value != in.SecretString {
			return nil, "ResourceExistsException"
		}
		if v == nil {
			v = &secretVersion{created: f.now()}
			f.versions[in.ClientRequestToken] = v
		}
		v.value, v.has = in.SecretString, true
		f.puts++
		for _, label := range in.VersionStages {
			f.move(label, in.ClientRequestToken)
		}
		return map[string]any{"ARN": secretARN, "VersionId": in.ClientRequestToken}, ""
	case "UpdateSecretVersionStage":
		holder, _ := f.at(in.VersionStage)
		if in.RemoveFromVersionID != holder || in.MoveToVersionID == "" && holder == "" {
			return nil, "InvalidParameterException"
		}
		if in.MoveToVersionID != "" && f.versions[in.MoveToVersionID] == nil {
			return nil, "ResourceNotFoundException"
		}
		f.move(in.VersionStage, in.MoveToVersionID)
		if in.VersionStage == "AWSCURRENT" && holder != in.MoveToVersionID {
			f.move("AWSPREVIOUS", holder)
		}
		return map[string]any{"ARN": secretARN}, ""
	}
	return nil, fmt.Sprintf("UnknownAction%s", action)
}
