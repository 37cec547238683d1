package llm

import "time"

// Models returns the list of models in a form that the SDKs of both APIs read: OpenAI's
// list (https://platform.openai.com/docs/api-reference/models/list) and Anthropic's
// page (https://docs.anthropic.com/en/api/models-list). When a model was made is not
// known, so it is given as the start of Unix time, as Anthropic does.
func (s *Service) Models() []byte {
	epoch := time.Unix(0, 0).UTC().Format(time.RFC3339)
	b := append([]byte(nil), `{"object":"list","data":[`...)
	models := s.config.Models
	for i := range models {
		if i > 0 {
			b = append(b, ',')
		}
		m := &models[i]
		b = appendString(append(b, `{"id":`...), m.Name)
		b = append(b, `,"object":"model","created":0,"owned_by":"spendcap","type":"model","display_name":`...)
		b = appendString(b, m.Name)
		b = appendString(append(b, `,"created_at":`...), epoch)
		b = appendInt(append(b, `,"max_input_tokens":`...), int64(s.config.MaxInputBytes))
		b = appendInt(append(b, `,"max_tokens":`...), int64(m.MaxOutputTokens))
		b = append(b, '}')
	}
	b = appendString(append(b, `],"has_more":false,"first_id":`...), models[0].Name)
	b = appendString(append(b, `,"last_id":`...), models[len(models)-1].Name)
	return append(b, '}')
}
