import type { Machine } from '../factory.ts'

export interface KubercLocation {
  /** As given. */
  readonly path: string
  /** False for the default file, which may be missing. */
  readonly isExplicit: boolean
}

/** The file of `--kuberc`, of the variable KUBERC, or `~/.kube/kuberc`. Undefined if `KUBERC=off`. */
export function locateKuberc(flag: string, { environment }: Machine): KubercLocation | undefined {
  const { KUBERC: variable = '', HOME: home = '' } = environment
  if (variable === 'off') {
    if (flag === '') return undefined
    throw new Error('disabling kuberc via KUBERC=off and passing kuberc flag are mutually exclusive')
  }
  const path = flag || variable
  return path === '' ? { path: `${home}/.kube/kuberc`, isExplicit: false } : { path, isExplicit: true }
}

/** The value of `--kuberc`, which is read before other flags; empty if it is not given. */
export function kubercFlag(words: readonly string[]): string {
  for (const [index, word] of words.entries()) {
    if (word === '--') break
    if (word !== '--kuberc' && !word.startsWith('--kuberc=')) continue
    const path = word === '--kuberc' ? words[index + 1] : word.slice('--kuberc='.length)
    if (!path) throw new Error('kuberc file is not found')
    return path
  }
  return ''
}
