/** The kubeconfig files of a node, `kubelet.conf` and `kube-proxy.conf`, which refer to files with certificates. */
import { dirname } from 'node:path'
import { stringifyYaml } from '#/api/text/stringify-yaml.ts'
import { readContent, type ConnectionSettings } from '#/kubeconfig/connection-settings.ts'
import { loadKubeconfig, settingsOf } from '#/kubeconfig/kubeconfig.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import { splitPem, type KeyAndCertificate } from './certificates/certificate-store.ts'

/** Undefined if there is no such file. Rejects when it cannot be used. */
export async function readKubeconfig(
  platform: Platform,
  path: string,
): Promise<ConnectionSettings | undefined> {
  if ((await platform.files.stat(path)) === undefined) return undefined
  const sources = { explicitPath: path, environment: {}, workingFolder: dirname(path) }
  const settings = settingsOf(await loadKubeconfig(platform, sources))
  if (settings === undefined) throw new Error(`cannot use kubeconfig ${path}: it has no server`)
  return settings
}

/** The client certificate of a kubeconfig, embedded or in files; undefined if it has none that can be read. */
export async function readClientCertificate(
  platform: Platform,
  linux: Pick<Linux, 'files'>,
  { user: { certificate } }: ConnectionSettings,
): Promise<KeyAndCertificate | undefined> {
  if (certificate === undefined) return undefined
  const texts: string[] = []
  for (const source of [certificate.cert, certificate.key]) {
    if ('file' in source && (await linux.files.stat(source.file)) === undefined) return undefined
    const real = 'file' in source ? { file: await linux.files.realPath(source.file) } : source
    texts.push(Buffer.from(await readContent(platform, real)).toString())
  }
  return splitPem(texts.join('\n'))
}

export interface ClientKubeconfig {
  readonly path: string
  /** The file with the client certificate and its key. */
  readonly certificatePath: string
  /** The settings of the API server; the user is ignored. */
  readonly cluster: ConnectionSettings
}

/** Writes the file as the kubelet of Kubernetes does after TLS bootstrapping. */
export async function writeClientKubeconfig(
  { files }: Platform,
  { path, certificatePath, cluster: { server, ca, insecureSkipVerify, serverName, proxy } }: ClientKubeconfig,
): Promise<void> {
  const cluster = {
    server,
    ...(ca && 'file' in ca && { 'certificate-authority': ca.file }),
    ...(ca && 'data' in ca && { 'certificate-authority-data': Buffer.from(ca.data).toString('base64') }),
    ...(insecureSkipVerify && { 'insecure-skip-tls-verify': true }),
    ...(serverName !== undefined && { 'tls-server-name': serverName }),
    ...(proxy !== undefined && { 'proxy-url': proxy }),
  }
  const text = stringifyYaml({
    'apiVersion': 'v1',
    'kind': 'Config',
    'clusters': [{ name: 'default-cluster', cluster }],
    'contexts': [
      {
        name: 'default-context',
        context: { cluster: 'default-cluster', namespace: 'default', user: 'default-auth' },
      },
    ],
    'current-context': 'default-context',
    'users': [
      {
        name: 'default-auth',
        user: { 'client-certificate': certificatePath, 'client-key': certificatePath },
      },
    ],
  })
  await files.makeFolder(dirname(path), { mode: 0o700 })
  await files.write(path, text, { mode: 0o600 })
}
