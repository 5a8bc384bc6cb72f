/**
 * Expands `$(NAME)` in commands, arguments and environment values. `$$` is an escaped dollar sign; unknown
 * names stay unexpanded.
 * https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/
 */

/** `value` returns undefined for unknown names; their references stay unexpanded. */
export function expandVariables(text: string, value: (name: string) => string | undefined): string {
  let expanded = ''
  let at = 0
  for (;;) {
    const dollar = text.indexOf('$', at)
    if (dollar === -1) return expanded + text.slice(at)
    expanded += text.slice(at, dollar)
    const next = text[dollar + 1]
    if (next === '(') {
      const end = text.indexOf(')', dollar + 2)
      // No closing parenthesis is left, but escapes are still processed.
      if (end === -1) return expanded + text.slice(dollar).replaceAll('$$', '$')
      const name = text.slice(dollar + 2, end)
      expanded += value(name) ?? `$(${name})`
      at = end + 1
    } else {
      expanded += next === '$' ? '$' : '$' + (next ?? '')
      at = dollar + (next === undefined ? 1 : 2)
    }
  }
}
