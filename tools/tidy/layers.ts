import type { Finding } from './finding.ts'
import type { SourceFile } from './source-file.ts'

const foundation = ['base', 'platform']
const vocabulary = [...foundation, 'api']
const clients = [...vocabulary, 'client']

/** The components that a component may import. Dependencies point down; all others are forbidden. */
const layers: Readonly<Record<string, readonly string[]>> = {
  'base': [],
  'command-line': ['base'],
  'platform': ['base'],
  'api': ['base'],
  'store': foundation,
  'cel': ['base', 'api'],
  'streams': foundation,
  'cri': [...vocabulary, 'streams'],
  'nftables': vocabulary,
  'network': [...clients, 'nftables'],
  'kubeconfig': vocabulary,
  'client': [...vocabulary, 'kubeconfig'],
  'component-base': clients,
  'custom-resource': ['base', 'api'],
  'apiserver': [...vocabulary, 'kubeconfig', 'store', 'cel', 'streams', 'history'],
  'controllers': [...clients, 'cel'],
  'scheduler': [...clients, 'cel'],
  'kubelet': [...clients, 'kubeconfig', 'component-base', 'streams', 'cri', 'network'],
  'proxy': [...clients, 'nftables'],
  'network-policy': [...clients, 'nftables'],
  'dns': clients,
  'api-balancer': clients,
  'http-proxy': vocabulary,
  'ingress': [...clients, 'http-proxy'],
  'gateway': [...clients, 'custom-resource', 'http-proxy'],
  'kustomize': vocabulary,
  'kubectl': [...clients, 'kubeconfig', 'kustomize', 'streams'],
  'kubeadm': [...clients, 'command-line', 'kubeconfig'],
  'why': clients,
  'history': vocabulary,
  'trace': clients,
  'console': [...clients, 'kubeconfig', 'streams'],
  'console-page': ['base', 'api', 'history', 'trace'],
  'operator': [...clients, 'kubeconfig', 'controllers', 'kubeadm'],
}

/** Compositions may import every component, and no component may import them. */
const compositions: ReadonlySet<string> = new Set(['simulation', 'commands', 'testing', 'cluster'])

/**
 * Types that may be imported where the component may not: random sources are parameters of API functions,
 * too.
 */
const typesForAll: ReadonlySet<string> = new Set(['src/platform/platform.ts'])

/** Tests may use the whole system: a controller is tested with a real API server. */
export function checkLayers(files: readonly SourceFile[]): Finding[] {
  const findings: Finding[] = []
  for (const file of files) {
    const from = componentOf(file.path)
    if (from === undefined || file.isTest || compositions.has(from)) continue
    const allowed = layers[from]
    if (allowed === undefined) {
      findings.push({
        path: file.path,
        line: 1,
        text: `component ${from} has no layer in tools/tidy/layers.ts`,
      })
      continue
    }
    for (const { target, typeOnly, line } of file.imports) {
      if (target === undefined || !target.startsWith('src/')) continue
      const to = componentOf(target)
      if (to === from || (to !== undefined && allowed.includes(to)) || (typeOnly && typesForAll.has(target)))
        continue
      findings.push({ path: file.path, line, text: `${from} must not import ${to ?? target}` })
    }
  }
  return findings
}

/** The folder below src; files directly in src belong to no component and may import all. */
export function componentOf(path: string): string | undefined {
  const [top, component, ...rest] = path.split('/')
  return top === 'src' && rest.length > 0 ? component : undefined
}
