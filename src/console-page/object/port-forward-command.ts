export interface PortForward {
  /** `pod/web-0`. */
  readonly target: string
  readonly namespace: string
  readonly port: number
}

/** Ports below this one need privileges on the user's machine. */
const unprivilegedPort = 1_024
const shiftedPorts = 8_000

/** Every word is quoted where a shell needs it: names come from the cluster. */
export function portForwardCommand({ target, namespace, port }: PortForward): string {
  const local = port < unprivilegedPort ? port + shiftedPorts : port
  return ['kubectl', '-n', namespace, 'port-forward', target, `${local}:${port}`].map(quoteWord).join(' ')
}

function quoteWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}
