/**
 * Creates kubeconfigs for arbitrary users of a running cluster, with certificates signed by its authority.
 */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { parse, stringify } from 'yaml'
import { ensureKubeconfigFile } from '#/kubeadm/kubeconfig-file.ts'
import { nodeCrypto, nodePlatform } from '#/platform/node.ts'
import type { ChildCluster } from '../clients/cluster.ts'

const options = {
  platform: nodePlatform({ log: { level: 'error', format: 'text' } }),
  crypto: nodeCrypto(),
}

/** Writes a kubeconfig with a certificate for this user and these groups; returns its path. */
export async function kubeconfigFor(
  cluster: ChildCluster,
  commonName: string,
  organizations: readonly string[] = [],
): Promise<string> {
  const [cert, key] = await Promise.all(
    ['ca.crt', 'ca.key'].map(name => readFile(join(cluster.folder, 'pki', name), 'utf8')),
  )
  const path = join(cluster.folder, `${commonName.replaceAll(':', '-')}.conf`)
  await ensureKubeconfigFile({
    ...options,
    path,
    ca: { name: 'ca', cert: cert!, key: key! },
    server: `https://127.0.0.1:${cluster.port}`,
    identity: { commonName, organizations, usage: 'client', names: [] },
  })
  return path
}

/** Writes a kubeconfig with a token instead of the administrator's certificate. */
export async function kubeconfigWithToken(
  cluster: ChildCluster,
  name: string,
  token: string,
): Promise<string> {
  const content = parse(await readFile(cluster.kubeconfig, 'utf8')) as { users: { user: object }[] }
  for (const each of content.users) each.user = { token }
  const path = join(cluster.folder, `${name}.conf`)
  await options.platform.files.write(path, stringify(content), { mode: 0o600 })
  return path
}

const run = promisify(execFile)

/** The output of kubectl, stderr after stdout; the exit code is ignored. */
export async function kubectl(kubeconfig: string, ...words: readonly string[]): Promise<string> {
  const program = process.env.KUBECTL ?? 'kubectl'
  const env = { ...process.env, KUBECONFIG: kubeconfig, GOGC: 'off' }
  const result = run(program, words, { env })
  const { stdout, stderr } = await result.catch((error: unknown) => error as Awaited<typeof result>)
  return `${stdout}${stderr}`
}
