/**
 * One-line cause of a containerd failure from the tail of its log: its final error message, otherwise the
 * last logged error.
 */
export function failureText(said: string): string {
  const lines = said.split('\n').filter(line => line.trim() !== '')
  const exitReason = lines.findLast(line => line.startsWith('containerd: '))
  if (exitReason) return exitReason.slice('containerd: '.length)
  const logged = lines.findLast(line => /\blevel=(?:fatal|error|panic)\b/.test(line))
  if (logged) return readable(logged)
  const panic = lines.find(line => line.startsWith('panic: ') || line.startsWith('fatal error: '))
  return panic ?? lines.at(-1)?.trim() ?? 'no output'
}

/**
 * Cause of a plugin load failure. The first failed plugin is reported, because later ones may depend on it.
 */
export function pluginFailureText(said: string): string {
  const failed = said.split('\n').find(line => line.includes('failed to load plugin'))
  return failed === undefined ? failureText(said) : readable(failed)
}

/** Message and error of a logrus line. */
function readable(line: string): string {
  const field = (name: string): string | undefined => {
    const found = new RegExp(`\\b${name}=("(?:[^"\\\\]|\\\\.)*"|\\S+)`).exec(line)?.[1]
    return found?.startsWith('"') ? found.slice(1, -1).replaceAll(/\\(.)/g, '$1') : found
  }
  const [message, error] = [field('msg'), field('error')]
  return [message, error].filter(Boolean).join(': ') || line.trim()
}
