/**
 * The code that shells load. It calls `kubectl __complete` with the words of the line: each line of the output is a
 * candidate, with a description after a tab, and the last one is `:` and a directive.
 */
const bash = `# bash completion for kubectl
__kubectl_words() {
  # Bash breaks words at = and :, which are joined again unless a space is between them.
  local rest=$COMP_LINE index piece
  words=()
  for ((index = 0; index <= COMP_CWORD; index++)); do
    piece=\${COMP_WORDS[index]}
    if [[ \${#words[@]} -eq 0 || $rest == [[:space:]]* ]]; then
      words+=("$piece")
    else
      words[\${#words[@]}-1]+=$piece
    fi
    rest=\${rest#"\${rest%%[![:space:]]*}"}
    rest=\${rest#"$piece"}
  done
}

__kubectl_complete() {
  local output directive line word pattern words candidates=()
  __kubectl_words
  word=\${words[\${#words[@]}-1]}
  output=$("\${words[0]}" __complete "\${words[@]:1}" 2>/dev/null)
  directive=\${output##*:}
  [[ $directive =~ ^[0-9]+$ ]] || return
  # Bash replaces the part after =.
  [[ $word == -*=* ]] && word=\${word#*=}
  while IFS= read -r line; do
    [[ $line == :* || -z $line ]] || candidates+=("\${line%%$'\\t'*}")
  done <<<"$output"
  COMPREPLY=()
  if ((directive & 8)); then
    pattern=$(IFS='|'; echo "\${candidates[*]}")
    compopt -o filenames 2>/dev/null
    while IFS= read -r line; do
      COMPREPLY+=("$line")
    done < <(compgen -d -- "$word"; shopt -s extglob; compgen -f -X "!*.@($pattern)" -- "$word")
    return
  fi
  for line in "\${candidates[@]}"; do
    [[ $line == "$word"* ]] || continue
    # Bash replaces the part after the last colon.
    if [[ $word == *:* && $COMP_WORDBREAKS == *:* ]]; then line=\${line#"\${word%:*}:"}; fi
    COMPREPLY+=("$line")
  done
  ((directive & 2)) && compopt -o nospace 2>/dev/null
  if [[ \${#COMPREPLY[@]} -eq 0 ]] && ((!(directive & 4))); then compopt -o default 2>/dev/null; fi
  return 0
}
complete -F __kubectl_complete kubectl
`

const zsh = `#compdef kubectl
_kubectl() {
  local output directive line
  local -a candidates
  output=$(\${words[1]} __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)
  directive=\${output##*:}
  [[ $directive == <-> ]] || return 1
  for line in \${(f)output}; do
    [[ $line == :* ]] && continue
    if [[ $line == *$'\\t'* ]]; then
      candidates+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
    else
      candidates+=("\${line//:/\\\\:}")
    fi
  done
  # Only the part after = is completed.
  [[ \${words[CURRENT]} == -*=* ]] && compset -P '*='
  if ((directive & 8)); then
    _files -g "*.(\${(j:|:)candidates})"
    return
  fi
  local -a options
  ((directive & 2)) && options=(-S '')
  if (($#candidates)); then
    _describe 'completions' candidates "\${options[@]}"
  elif ((!(directive & 4))); then
    _files
  fi
}
if [ "\${funcstack[1]}" = _kubectl ]; then
  _kubectl
else
  compdef _kubectl kubectl
fi
`

const fish = `# fish completion for kubectl
function __kubectl_complete
  set -l words (commandline -opc)
  set -l output ($words[1] __complete $words[2..-1] (commandline -ct) 2>/dev/null)
  set -l directive (string replace -r '^:' '' -- $output[-1])
  string match -qr '^[0-9]+$' -- $directive; or return 1
  set -l candidates $output[1..-2]
  if test (math "bitand($directive, 8)") -ne 0
    for each in $candidates
      __fish_complete_suffix .$each
    end
    return
  end
  # The candidates are values of a flag without its name.
  set -l prefix (string match -r '^-[^=]*=' -- (commandline -ct))
  for each in $candidates
    echo $prefix$each
  end
  if test (count $candidates) -eq 0; and test (math "bitand($directive, 4)") -eq 0
    __fish_complete_path (commandline -ct)
  end
end
complete -c kubectl -e
complete -c kubectl -f -a '(__kubectl_complete)'
`

const powershell = `# powershell completion for kubectl
Register-ArgumentCompleter -Native -CommandName 'kubectl' -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @($commandAst.CommandElements | ForEach-Object { "$_" })
  $given = @($words | Select-Object -Skip 1)
  if ($wordToComplete -eq '') { $given += '""' }
  $output = @(& $words[0] __complete @given 2>$null)
  $output | Where-Object { $_ -notmatch '^:\\d+$' } | ForEach-Object {
    $text, $description = $_ -split "\`t", 2
    if (-not $description) { $description = $text }
    [System.Management.Automation.CompletionResult]::new($text, $text, 'ParameterValue', $description)
  }
}
`

export const shellScripts: Readonly<Record<string, string>> = { bash, zsh, fish, powershell }
