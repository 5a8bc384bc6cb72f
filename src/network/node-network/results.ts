/**
 * Which of the remembered results belong to pods of a network. A file is called by the network, the sandbox and the
 * interface; the loopback interface of each sandbox is a network of its own that all clusters share.
 */
export function planResultCleanup(names: readonly string[], network: string): readonly string[] {
  const sandboxes = new Set(names.flatMap(name => (name.startsWith(`${network}-`) ? [sandboxOf(name)] : [])))
  return names.filter(name => {
    return name.startsWith(`${network}-`) || (name.startsWith(loopback) && sandboxes.has(sandboxOf(name)))
  })
}

const loopback = 'cni-loopback-'

function sandboxOf(name: string): string {
  return name.split('-').at(-2) ?? ''
}
