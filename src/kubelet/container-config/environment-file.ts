/**
 * Parses environment files written by an earlier container: `NAME='value'`, comments and empty lines. Values
 * may span lines and are not expanded.
 * https://kubernetes.io/docs/tasks/inject-data-application/define-environment-variable-via-file/
 */

/** Empty if the file does not define the variable. Throws an Error with the cause and the line number. */
export function environmentFileValue(text: string, key: string): string {
  const lines = text.replace(/\n$/, '').split('\n').map(withoutReturn)
  for (let index = 0; index < lines.length; index++) {
    const line = (lines[index] ?? '').replace(/^[ \t]+/, '')
    if (line === '' || line.startsWith('#')) continue
    const { name, value } = splitAssignment(line, index + 1)
    // As in a shell, whitespace after `=` is not part of an assignment.
    if (/^[ \t]/.test(value)) {
      if (name === key) return ''
      continue
    }
    if (!value.startsWith("'")) throw wrong(index + 1, 'value must be enclosed in single quotes')
    const read = readQuoted(lines, index, value.slice(1))
    if (name === key) return read.value
    index = read.lastIndex
  }
  return ''
}

function splitAssignment(line: string, number: number): { readonly name: string; readonly value: string } {
  const equals = line.indexOf('=')
  if (equals === -1) throw wrong(number, "missing '='")
  const name = line.slice(0, equals)
  if (/^[ \t]*$/.test(name)) throw wrong(number, 'empty variable name')
  if (/[ \t]$/.test(name)) throw wrong(number, "whitespace before '=' is not allowed")
  return { name, value: line.slice(equals + 1) }
}

function readQuoted(
  lines: readonly string[],
  first: number,
  begin: string,
): { readonly value: string; readonly lastIndex: number } {
  const parts: string[] = []
  let rest = begin
  for (let index = first; ;) {
    const end = rest.indexOf("'")
    if (end !== -1) {
      if (!/^[ \t]*(?:#|$)/.test(rest.slice(end + 1))) {
        throw wrong(index + 1, 'unexpected content after closing quote')
      }
      parts.push(rest.slice(0, end))
      return { value: parts.join('\n'), lastIndex: index }
    }
    parts.push(rest)
    index++
    if (index >= lines.length) {
      throw new Error(
        `invalid environment variable format starting at line ${first + 1}: unclosed single quote`,
      )
    }
    rest = lines[index] ?? ''
  }
}

function withoutReturn(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line
}

function wrong(line: number, reason: string): Error {
  return new Error(`invalid environment variable format at line ${line}: ${reason}`)
}
