/**
 * Why containerd ended, in one line, from what it said last: its own last words, or else the last lines of its log that
 * are errors.
 */
export function failureText(said: string): string {
  const lines = said.split('\n').filter(line => line.trim() !== '')
  const lastWords = lines.findLast(line => line.startsWith('containerd: '))
  if (lastWords) return lastWords.slice('containerd: '.length)
  const logged = lines.findLast(line => /\blevel=(?:fatal|error|panic)\b/.test(line))
  if (logged) return readable(logged)
  const panic = lines.find(line => line.startsWith('panic: ') || line.startsWith('fatal error: '))
  return panic ?? lines.at(-1)?.trim() ?? 'it said nothing'
}

/** Why a plugin could not be loaded: the first that failed, since others may have needed it. */
export function pluginFailureText(said: string): string {
  const failed = said.split('\n').find(line => line.includes('failed to load plugin'))
  return failed === undefined ? failureText(said) : readable(failed)
}

/** The message and the error of a line of logrus. */
function readable(line: string): string {
  const field = (name: string): string | undefined => {
    const found = new RegExp(`\\b${name}=("(?:[^"\\\\]|\\\\.)*"|\\S+)`).exec(line)?.[1]
    return found?.startsWith('"') ? found.slice(1, -1).replaceAll(/\\(.)/g, '$1') : found
  }
  const [message, error] = [field('msg'), field('error')]
  return [message, error].filter(Boolean).join(': ') || line.trim()
}
