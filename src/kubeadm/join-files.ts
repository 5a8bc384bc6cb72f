/**
 * What a machine has after discovery: `bootstrap-kubelet.conf`, with which its kubelet requests a certificate, and the
 * CA of the cluster. The token is tried first, so that an expired one and a wrong clock are found here.
 */
import { dirname, join } from 'node:path'
import { isApiError } from '#/api/errors.ts'
import { parseTime } from '#/api/text/time.ts'
import { messageOf } from '#/base/message-of.ts'
import type { Client } from '#/client/client.ts'
import type { Platform } from '#/platform/platform.ts'
import { readIfExists } from './certificates/read-if-exists.ts'
import { formatKubeconfig, readClusterAccess, type ClusterAccess } from './kubeconfig-file.ts'
import { clockProblem, clockSkewProblem } from './clock-problem.ts'

const bootstrapUser = 'tls-bootstrap-token-user'

export interface JoinFiles {
  /** The folder of the host. */
  readonly folder: string
  readonly caCertPath: string
  readonly cluster: ClusterAccess
  /** The text of the token. */
  readonly token: string
}

/** Resolves to the path of the kubeconfig. */
export async function writeJoinFiles({ files }: Platform, options: JoinFiles): Promise<string> {
  const { folder, caCertPath, cluster, token } = options
  const path = join(folder, 'bootstrap-kubelet.conf')
  await files.makeFolder(folder, { mode: 0o700 })
  await files.makeFolder(dirname(caCertPath), { mode: 0o700 })
  await files.write(path, formatKubeconfig({ ...cluster, userName: bootstrapUser, user: { token } }), {
    mode: 0o600,
  })
  await files.write(caCertPath, cluster.caCertificates, { mode: 0o600 })
  return path
}

/** File-based discovery: the cluster of a kubeconfig that the administrator has copied. */
export async function readDiscoveryFile({ files }: Platform, path: string): Promise<ClusterAccess> {
  const text = await readIfExists(files, path)
  if (text === undefined) throw new Error(`cannot read discovery file ${path}: file not found`)
  const access = readClusterAccess(text)
  if (access === undefined)
    throw new Error(
      `cannot use discovery file ${path}: it has no cluster with server and certificate-authority-data`,
    )
  return access
}

/** Rejects with one line when the token is not accepted, or the clocks differ. */
export async function checkBootstrapToken(
  client: Client,
  { nowMs, server }: { readonly nowMs: number; readonly server: string },
): Promise<void> {
  const fail = (reason: string, cause: unknown): never => {
    throw new Error(`cannot join ${server}: ${reason}`, { cause })
  }
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
  const request = {
    method: 'POST',
    path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    body: { mediaType: 'application/json', value: review },
  }
  const response = await client.raw(request).catch((error: unknown): never => {
    if (isApiError(error, 'Unauthorized'))
      fail(
        'the bootstrap token is not accepted, it may have expired: run k8ts token create on a control plane',
        error,
      )
    return fail(clockProblem(error) ?? messageOf(error), error)
  })
  const { metadata } = (await response.value()) as {
    readonly metadata?: { readonly creationTimestamp?: string }
  }
  const date = Date.parse(response.headers['date'] ?? '')
  const serverMs = Number.isNaN(date) ? parseTime(metadata?.creationTimestamp ?? '') : date
  const problem = serverMs === undefined ? undefined : clockSkewProblem(nowMs, serverMs)
  if (problem !== undefined) fail(problem, undefined)
}
