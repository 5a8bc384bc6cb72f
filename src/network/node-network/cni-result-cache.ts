/**
 * Selects the cached CNI results of pods of a network. File names contain network, sandbox and interface; the
 * loopback interface of each sandbox is a separate network with the same name in all clusters.
 */
export function planCniResultCleanup(names: readonly string[], network: string): readonly string[] {
  const sandboxes = new Set(names.flatMap(name => (name.startsWith(`${network}-`) ? [sandboxOf(name)] : [])))
  return names.filter(name => {
    return name.startsWith(`${network}-`) || (name.startsWith(loopback) && sandboxes.has(sandboxOf(name)))
  })
}

const loopback = 'cni-loopback-'

function sandboxOf(name: string): string {
  return name.split('-').at(-2) ?? ''
}
