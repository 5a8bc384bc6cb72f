import { join } from 'node:path'
import type { TestContext } from 'node:test'
import {
  ensureCertificate,
  ensureClusterCertificates,
  type KeyAndCertificate,
} from '#/kubeadm/certificates.ts'
import { nodeCrypto, nodePlatform } from '#/platform/node.ts'
import { temporaryFolder } from '../temporary-folder.ts'

export interface TestCertificates {
  /** PEM of the certificate authority. */
  readonly ca: string
  readonly server: KeyAndCertificate
  readonly client: (commonName: string, organizations?: readonly string[]) => Promise<KeyAndCertificate>
}

/** Certificates of a cluster, for a server on loopback and under the given names. */
export async function testCertificates(
  t: Pick<TestContext, 'after'>,
  serverNames: readonly string[] = [],
): Promise<TestCertificates> {
  const options = {
    platform: nodePlatform({ log: { level: 'error', format: 'text' } }),
    crypto: nodeCrypto(),
  }
  const folder = join(await temporaryFolder(t), 'pki')
  const { ca, apiServer } = await ensureClusterCertificates({ ...options, folder, serverNames })
  return {
    ca: ca.cert,
    server: apiServer,
    client: (commonName, organizations = []) => {
      const profile = { commonName, organizations, usage: 'client', names: [] } as const
      return ensureCertificate(options, { profile, ca, existing: undefined })
    },
  }
}
