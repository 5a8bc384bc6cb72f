/**
 * `$(NAME)` in commands, arguments and values of variables. `$$` is a dollar sign; what names no variable stays.
 * https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/
 */

/** `value` gives undefined for a name that is not known; the reference then stays. */
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
      // No reference is complete from here on, but escapes still count.
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
