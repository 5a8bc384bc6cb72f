import type { ClusterEntry } from '#/kubeconfig/kubeconfig.ts'
import { defineCommand, type Command } from '../../command.ts'
import { changeConfig, embeddedFile, relativeToConfig, requireArguments } from '../../config/change-config.ts'
import { boolFlag, stringFlag } from '../../flag-types.ts'
import type { Factory } from '../../factory.ts'

const flags = {
  'certificate-authority': stringFlag("File with the CA certificates of the server's certificate."),
  'embed-certs': boolFlag('Store the content of the file in the kubeconfig, not its path.'),
  'insecure-skip-tls-verify': boolFlag('Accept any certificate of the server.'),
  'proxy-url': stringFlag('URL of a proxy for requests to the server.'),
  'server': stringFlag('Address of the server.'),
  'tls-server-name': stringFlag("Name in the server's certificate."),
}

export const command: Command = defineCommand({
  usage: 'set-cluster NAME [--server=URL] [--certificate-authority=FILE] [--insecure-skip-tls-verify=true]',
  description: 'Adds a cluster to the kubeconfig, or changes fields of an existing one.',
  examples: `  # Set the server of a cluster
  kubectl config set-cluster staging --server=https://1.2.3.4

  # Embed the CA certificate
  kubectl config set-cluster staging --embed-certs --certificate-authority=ca.crt`,
  flags,
  async run(invocation) {
    await requireArguments(command, invocation, { count: 1 })
    const { args, flags, factory, streams } = invocation
    const [name = ''] = args
    const { server, 'proxy-url': proxyUrl, 'tls-server-name': serverName } = flags
    const insecure = flags['insecure-skip-tls-verify']
    const ca = flags['certificate-authority']
    if (insecure && ca) {
      throw new Error('you cannot specify a certificate authority and insecure mode at the same time')
    }
    if (flags['embed-certs'] && !ca) {
      throw new Error('you must specify a --certificate-authority to embed')
    }
    const trust = ca ? await trustOf(factory, { ca, embeds: flags['embed-certs'] ?? false }) : {}
    const changed = (existing?: ClusterEntry): ClusterEntry => ({
      ...(insecure || ca !== undefined ? withoutTrust(existing) : existing),
      server: server ?? existing?.server ?? '',
      ...(insecure !== undefined && { 'insecure-skip-tls-verify': insecure }),
      ...(serverName !== undefined && { 'tls-server-name': serverName }),
      ...(proxyUrl !== undefined && { 'proxy-url': proxyUrl }),
      ...trust,
    })
    await changeConfig(factory, ({ clusters }) => [
      { section: 'clusters', name, value: changed(clusters.get(name)?.value) },
    ])
    streams.write(`Cluster ${JSON.stringify(name)} set.\n`)
  },
})

function withoutTrust(entry: ClusterEntry | undefined): ClusterEntry {
  const { 'certificate-authority': _ca, 'certificate-authority-data': _data, ...rest } = entry ?? {}
  const { 'insecure-skip-tls-verify': _insecure, ...others } = rest
  return others
}

async function trustOf(
  factory: Factory,
  { ca, embeds }: { readonly ca: string; readonly embeds: boolean },
): Promise<ClusterEntry> {
  if (!embeds) return { 'certificate-authority': await relativeToConfig(factory, ca) }
  const flag = 'certificate-authority'
  return { 'certificate-authority-data': await embeddedFile(factory, { flag, path: ca }) }
}
