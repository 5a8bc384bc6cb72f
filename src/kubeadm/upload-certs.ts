/**
 * Shares the certificate authorities and keys of a control plane with those that join: `upload-certs` encrypts them
 * into a Secret, which is deleted with a token of two hours that owns it; `download-certs` writes them to the files.
 */
import { dirname, join } from 'node:path'
import { isApiError } from '#/api/errors.ts'
import { secrets } from '#/api/generated/core/v1-resources.ts'
import type { Client } from '#/client/client.ts'
import type { Platform } from '#/platform/platform.ts'
import { generateBootstrapToken, nodeBootstrapTokenGroup, parseBootstrapToken } from './bootstrap-token.ts'
import { createBootstrapToken } from './bootstrap-tokens.ts'
import { decryptWithCertificateKey, encryptWithCertificateKey } from './certificate-key.ts'
import { readIfExists } from './certificates/read-if-exists.ts'
import type { EtcdSettings } from './init-settings.ts'
import { applyObject, applyReaderRole, groupSubject } from './apply-objects.ts'

const namespace = 'kube-system'
const secretName = 'kubeadm-certs'
/** All API servers of a cluster have the same keys of the Secrets at rest. */
const encryptionConfiguration = 'encryption.yaml'

const ttlMs = 2 * 3_600_000

export interface SharedCertificatesOptions {
  readonly client: Client
  readonly platform: Pick<Platform, 'files' | 'random' | 'clock'>
  readonly certificatesDir: string
  readonly certificateKey: string
  readonly etcd: EtcdSettings
}

/** A file that does not exist, such as the key of an external CA, is uploaded as empty. */
export async function uploadCerts(options: SharedCertificatesOptions): Promise<void> {
  const { client, platform, certificateKey } = options
  const data: Record<string, string> = {}
  for (const [name, path] of sharedFiles(options)) {
    const content = await readIfExists(platform.files, path)
    data[secretKey(name)] =
      content === undefined
        ? ''
        : encryptWithCertificateKey(platform.random, certificateKey, content).toString('base64')
  }
  const owner = await createBootstrapToken(client, {
    ...parseBootstrapToken(generateBootstrapToken(platform.random))!,
    description: 'Proxy for managing TTL for the kubeadm-certs secret',
    expiresMs: platform.clock.now() + ttlMs,
    usages: [],
    groups: [],
  })
  const { name, uid } = owner.metadata
  await applyObject(client, secrets, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      namespace,
      name: secretName,
      ownerReferences: [
        { apiVersion: 'v1', kind: 'Secret', name, uid, controller: true, blockOwnerDeletion: true },
      ],
    },
    data,
  })
  await applyReaderRole(client, {
    name: 'kubeadm:kubeadm-certs',
    namespace,
    resource: 'secrets',
    resourceName: secretName,
    subjects: [groupSubject(nodeBootstrapTokenGroup)],
  })
}

/** Writes no file unless all can be decrypted. Resolves to the paths of the files. */
export async function downloadCerts(options: SharedCertificatesOptions): Promise<readonly string[]> {
  const { client, platform, certificateKey } = options
  const { data = {} } = await findSecret(client)
  const contents = new Map<string, Buffer>()
  for (const [name, path] of sharedFiles(options)) {
    const text = Object.hasOwn(data, secretKey(name)) ? data[secretKey(name)] : undefined
    // kubeadm does not upload it.
    if (text === undefined && name === encryptionConfiguration) continue
    if (text === undefined)
      throw new Error(`Secret ${secretName} does not include ${name}: upload the certificates again`)
    if (text === '') continue
    const content = decryptWithCertificateKey(certificateKey, Buffer.from(text, 'base64'))
    if (content === undefined) {
      const way = 'it was encrypted with another one; upload the certificates again'
      throw new Error(`cannot decrypt Secret ${secretName} with this certificate key: ${way}`)
    }
    contents.set(path, content)
  }
  for (const [path, content] of contents) {
    await platform.files.makeFolder(dirname(path), { mode: 0o700 })
    await platform.files.write(path, content, { mode: 0o600 })
  }
  return [...contents.keys()]
}

async function findSecret(client: Client) {
  try {
    return await client.get(secrets, { namespace, name: secretName })
  } catch (error) {
    if (!isApiError(error, 'NotFound')) throw error
    const way = 'run k8ts init phase upload-certs --upload-certs on a control plane to upload it again'
    throw new Error(
      `Secret ${secretName} was not found in namespace ${namespace}: it expires after two hours; ${way}`,
      {
        cause: error,
      },
    )
  }
}

function sharedFiles({
  certificatesDir,
  etcd,
}: SharedCertificatesOptions): readonly (readonly [string, string])[] {
  const names = ['ca.crt', 'ca.key', 'front-proxy-ca.crt', 'front-proxy-ca.key', 'sa.pub', 'sa.key']
  // Also without an etcd: kubeadm expects empty entries.
  const local = etcd.type === 'external' ? [] : ['etcd/ca.crt', 'etcd/ca.key']
  const files = [...names, encryptionConfiguration, ...local].map(
    name => [name, join(certificatesDir, name)] as const,
  )
  if (etcd.type !== 'external') return files
  const { caFile, certFile, keyFile } = etcd.external
  const external = [
    ['external-etcd-ca.crt', caFile],
    ['external-etcd.crt', certFile],
    ['external-etcd.key', keyFile],
  ] as const
  return [
    ...files,
    ...external.flatMap(([name, path]) => (path === undefined ? [] : [[name, path] as const])),
  ]
}

/** Keys of a Secret have no slashes. */
function secretKey(name: string): string {
  return name.replaceAll('/', '-')
}
