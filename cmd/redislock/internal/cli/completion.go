package cli

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
)

// shells are those that can complete the tool's command lines, with what writes their scripts.
var shells = []struct {
	name  string
	write func(*Tool) string
}{{"bash", (*Tool).bash}, {"zsh", (*Tool).zsh}, {"fish", (*Tool).fish}}

// CompletionCommand is redislock completion, for the commands of this tool.
func CompletionCommand(tool func() *Tool) Command {
	names := make([]string, len(shells))
	for i, s := range shells {
		names[i] = s.name
	}
	return Command{
		Name:    "completion",
		Args:    strings.Join(names, " | "),
		Summary: "write a script with which a shell completes commands and flags",
		Help: `The script is loaded by the shell when it starts:
  source <(redislock completion bash)      in ~/.bashrc
  source <(redislock completion zsh)       in ~/.zshrc, behind compinit
  redislock completion fish | source       in ~/.config/fish/config.fish`,
		Examples: []Example{{Line: "source <(redislock completion bash)", About: "complete in this shell, from now on"}},
		Values:   names,
		Define: func(*flag.FlagSet) Action {
			return func(_ context.Context, to Streams, args []string) error {
				if len(args) != 1 || !slices.Contains(names, args[0]) {
					return Usagef("name one shell: %s", strings.Join(names, ", "))
				}
				Say(to.Out, "%s", shells[slices.Index(names, args[0])].write(tool()))
				return nil
			}
		},
	}
}

// shown are the commands that users call.
func (t *Tool) shown() (commands []Command) {
	for _, c := range t.Commands {
		if !c.Hidden {
			commands = append(commands, c)
		}
	}
	return commands
}

// An option is a flag, for those who write about it.
type option struct {
	name, value, about string // the value is empty if the flag stands alone
}

// options are the flags of a command, in the order of their names.
func (c Command) options() (all []option) {
	flags, _ := c.Flags()
	flags.VisitAll(func(f *flag.Flag) {
		value, about := valueOf(f)
		all = append(all, option{f.Name, value, strings.Join(strings.Fields(about), " ")})
	})
	return append(all, option{"h", "", "show the flags, with examples"})
}

// brief is the beginning of what is said about an option, for a list in a terminal.
func (o option) brief() string {
	about, _, _ := strings.Cut(o.about, ";")
	about, _, _ = strings.Cut(about, ", such as")
	return strings.TrimSpace(about)
}

// literal quotes a text for a shell.
func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// names of the commands, with help.
func (t *Tool) names() []string {
	names := []string{"help"}
	for _, c := range t.shown() {
		names = append(names, c.Name)
	}
	return names
}

// bash writes the script for bash. Behind "--" and behind flags with a value it completes names of files.
func (t *Tool) bash() string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Completion of %[1]s for bash: source <(%[1]s completion bash)
_%[1]s() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} flags values with split=no i
  COMPREPLY=()
  if [[ $COMP_CWORD == 1 ]]; then
    COMPREPLY=($(compgen -W "%[2]s" -- "$word"))
    return
  fi
  case ${COMP_WORDS[1]} in
`, t.Name, strings.Join(t.names(), " "))
	for _, c := range t.shown() {
		var flags, with []string
		for _, o := range c.options() {
			flags = append(flags, "-"+o.name)
			if o.value != "" {
				with = append(with, "-"+o.name)
			}
		}
		fmt.Fprintf(&b, "  %s) flags=%s with=%s values=%s split=%s ;;\n", c.Name, literal(strings.Join(flags, " ")),
			literal(" "+strings.Join(with, " ")+" "), literal(strings.Join(c.Values, " ")), yesNo(c.Splits))
	}
	fmt.Fprintf(&b, `  help) values="%[2]s" ;;
  esac
  for ((i = 2; i < COMP_CWORD; i++)); do
    if [[ ${COMP_WORDS[i]} == -- ]]; then
      if [[ $split == yes && $i == $((COMP_CWORD - 1)) ]]; then
        COMPREPLY=($(compgen -c -- "$word"))
      fi
      return
    fi
  done
  if [[ $with == *" $before "* ]]; then
    return
  fi
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$word"))
  else
    COMPREPLY=($(compgen -W "$values" -- "$word"))
  fi
}
complete -o default -F _%[1]s %[1]s
`, t.Name, strings.Join(t.names(), " "))
	return b.String()
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// zsh writes the script for zsh, which may be sourced or be a file _redislock in $fpath.
func (t *Tool) zsh() string {
	var b strings.Builder
	fmt.Fprintf(&b, "#compdef %[1]s\n# Completion of %[1]s for zsh: source <(%[1]s completion zsh)\n_%[1]s() {\n  local -a commands\n  commands=(\n", t.Name)
	for _, c := range t.shown() {
		fmt.Fprintf(&b, "    %s\n", literal(c.Name+":"+escapeZsh(c.Summary)))
	}
	b.WriteString(`    'help:show the flags of a command, with examples'
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local behind=${words[(i)--]}
  case $words[2] in
`)
	for _, c := range t.shown() {
		fmt.Fprintf(&b, "  %s)\n", c.Name)
		if c.Splits {
			b.WriteString("    if (( behind < CURRENT )); then\n      shift $behind words\n      (( CURRENT -= behind ))\n      _normal\n      return\n    fi\n")
		}
		b.WriteString("    shift words\n    (( CURRENT -= 1 ))\n    _arguments")
		for _, o := range c.options() {
			value := ""
			if o.value != "" {
				value = ":" + o.value + ":_files"
			}
			fmt.Fprintf(&b, " \\\n      %s", literal("-"+o.name+"["+escapeZsh(o.brief())+"]"+value))
		}
		rest := "*:argument:"
		if len(c.Values) > 0 {
			rest += "(" + strings.Join(c.Values, " ") + ")"
		}
		fmt.Fprintf(&b, " \\\n      %s ;;\n", literal(rest))
	}
	fmt.Fprintf(&b, `  help)
    _describe command commands ;;
  esac
}
if [[ $funcstack[1] == _%[1]s ]]; then
  _%[1]s "$@"
else
  compdef _%[1]s %[1]s
fi
`, t.Name)
	return b.String()
}

// escapeZsh escapes what has a meaning in the specifications of _arguments and _describe.
func escapeZsh(text string) string {
	return strings.NewReplacer(`\`, `\\`, ":", `\:`, "[", `\[`, "]", `\]`).Replace(text)
}

// fish writes the script for fish.
func (t *Tool) fish() string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Completion of %[1]s for fish: %[1]s completion fish | source
function __%[1]s_command
  set -l words (commandline -opc)
  test (count $words) -ge 2; and contains -- $words[2] $argv; and not contains -- -- $words
end
function __%[1]s_behind
  set -l words (commandline -opc)
  test (count $words) -ge 2; and contains -- $words[2] $argv; and contains -- -- $words
end
complete -c %[1]s -f
`, t.Name)
	first := fmt.Sprintf("complete -c %s -n 'test (count (commandline -opc)) -eq 1'", t.Name)
	fmt.Fprintf(&b, "%s -a help -d 'show the flags of a command, with examples'\n", first)
	for _, c := range t.shown() {
		fmt.Fprintf(&b, "%s -a %s -d %s\n", first, c.Name, fishLiteral(c.Summary))
	}
	of := func(condition, command string) {
		fmt.Fprintf(&b, "complete -c %[1]s -n '__%[1]s_%[2]s %[3]s'", t.Name, condition, command)
	}
	of("command", "help")
	fmt.Fprintf(&b, " -a %s\n", fishLiteral(strings.Join(t.names(), " ")))
	for _, c := range t.shown() {
		for _, o := range c.options() {
			of("command", c.Name)
			fmt.Fprintf(&b, " -o %s -d %s%s\n", o.name, fishLiteral(o.brief()), map[bool]string{true: " -r -F"}[o.value != ""])
		}
		if len(c.Values) > 0 {
			of("command", c.Name)
			fmt.Fprintf(&b, " -a %s\n", fishLiteral(strings.Join(c.Values, " ")))
		}
		if c.Splits {
			of("behind", c.Name)
			b.WriteString(" -F -a '(__fish_complete_command)'\n")
		}
	}
	return b.String()
}

// fishLiteral quotes a text for fish.
func fishLiteral(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) + "'"
}
