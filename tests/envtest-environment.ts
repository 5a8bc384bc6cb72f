/** Starts the executables of KUBEBUILDER_ASSETS in the way of controller-runtime's envtest. */
import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import {
  ensureCertificate,
  ensureClusterCertificates,
  type KeyAndCertificate,
} from '#/kubeadm/certificates.ts'
import { administrator } from '#/kubeadm/identities.ts'
import { nodeCrypto, nodePlatform } from '#/platform/node.ts'
import { waitUntil } from './wait-until.ts'

export interface Environment {
  readonly url: string
  readonly etcd: ChildProcess
  readonly apiServer: ChildProcess
  readonly ask: Ask
  /** Without a client certificate. */
  readonly askAnonymously: Ask
  /** SIGTERM to both processes; their exit codes. */
  readonly stop: () => Promise<readonly (number | null)[]>
}

export interface Answer {
  readonly status: number
  readonly text: string
}

type Ask = (path: string, body?: unknown) => Promise<Answer>

export interface EnvironmentOptions {
  readonly assets: string
  /** Folder for the files of this environment. */
  readonly folder: string
  readonly environment?: Readonly<Record<string, string>>
  /** In addition to those of envtest. */
  readonly flags?: readonly string[]
}

/** Resolves when the API server is healthy. */
export async function startEnvironment(t: TestContext, options: EnvironmentOptions): Promise<Environment> {
  const { assets, folder, environment = {}, flags = [] } = options
  const start = (program: string, parameters: readonly string[]): ChildProcess => {
    const child = spawn(join(assets, program), parameters, {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, ...environment },
    })
    t.after(() => child.kill('SIGKILL'))
    return child
  }
  const etcdUrl = `http://127.0.0.1:${await freePort()}`
  const etcd = start('etcd', etcdFlags(etcdUrl, join(folder, 'etcd')))
  await waitUntilHealthy(etcd, async () => (await ask(`${etcdUrl}/health`)).status === 200)

  const url = `https://127.0.0.1:${await freePort()}`
  const certDir = join(folder, 'certs')
  const { ca, admin } = await makeCertificates(folder, certDir)
  const apiServer = start('kube-apiserver', [...apiServerFlags({ url, certDir, etcdUrl }), ...flags])
  const askAnonymously: Ask = (path, body) => ask(`${url}${path}`, { ca }, body)
  await waitUntilHealthy(apiServer, async () => (await askAnonymously('/healthz')).status === 200)
  return {
    url,
    etcd,
    apiServer,
    ask: (path, body) => ask(`${url}${path}`, { ca, ...admin }, body),
    askAnonymously,
    stop: () => Promise.all([apiServer, etcd].map(stop)),
  }
}

async function stop(child: ChildProcess): Promise<number | null> {
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  const [code] = await exited
  return code as number | null
}

function etcdFlags(url: string, dataDir: string): readonly string[] {
  return [
    `--advertise-client-urls=${url}`,
    `--data-dir=${dataDir}`,
    `--listen-client-urls=${url}`,
    '--listen-peer-urls=http://127.0.0.1:0',
    '--unsafe-no-fsync=true',
  ]
}

function apiServerFlags(given: {
  readonly url: string
  readonly certDir: string
  readonly etcdUrl: string
}): readonly string[] {
  const { url, certDir, etcdUrl } = given
  return [
    '--allow-privileged=true',
    '--authorization-mode=RBAC',
    '--bind-address=127.0.0.1',
    `--cert-dir=${certDir}`,
    `--client-ca-file=${certDir}/client-cert-auth-ca.crt`,
    '--disable-admission-plugins=ServiceAccount',
    `--etcd-servers=${etcdUrl}`,
    `--secure-port=${new URL(url).port}`,
    `--service-account-issuer=${url}/`,
    `--service-account-key-file=${certDir}/sa-signer.crt`,
    `--service-account-signing-key-file=${certDir}/sa-signer.key`,
    '--service-cluster-ip-range=10.0.0.0/24',
  ]
}

/** Serving certificate, client CA and service account keys, each of a CA of its own as envtest makes them. */
async function makeCertificates(
  folder: string,
  certDir: string,
): Promise<{ readonly ca: string; readonly admin: KeyAndCertificate }> {
  const platform = nodePlatform({ log: { level: 'warn', format: 'text' } })
  const options = { platform, crypto: nodeCrypto() }
  const make = (name: string) =>
    ensureClusterCertificates({ ...options, folder: join(folder, name), serverNames: ['127.0.0.1'] })
  const [serving, clients] = [await make('serving'), await make('clients')]
  await mkdir(certDir)
  await writeFile(join(certDir, 'apiserver.crt'), serving.apiServer.cert)
  await writeFile(join(certDir, 'apiserver.key'), serving.apiServer.key)
  await writeFile(join(certDir, 'client-cert-auth-ca.crt'), clients.ca.cert)
  await copyFile(join(folder, 'clients', 'front-proxy-ca.crt'), join(certDir, 'sa-signer.crt'))
  await copyFile(join(folder, 'clients', 'front-proxy-ca.key'), join(certDir, 'sa-signer.key'))
  const admin = await ensureCertificate(options, {
    profile: { ...administrator, commonName: 'admin' },
    ca: clients.ca,
    existing: undefined,
  })
  return { ca: serving.ca.cert, admin }
}

async function waitUntilHealthy(child: ChildProcess, isHealthy: () => Promise<boolean>): Promise<void> {
  await waitUntil(async () => {
    assert.equal(child.exitCode, null, 'the program has ended')
    return isHealthy().catch(() => false)
  })
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** A body is posted as JSON. */
async function ask(
  url: string,
  tls: { readonly ca?: string; readonly cert?: string; readonly key?: string } = {},
  body?: unknown,
): Promise<Answer> {
  const options = {
    ...tls,
    agent: false as const,
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'content-type': 'application/json' },
  }
  const request = url.startsWith('https:') ? httpsRequest(url, options) : httpRequest(url, options)
  request.end(body === undefined ? undefined : JSON.stringify(body))
  const [response] = await once(request, 'response')
  return { status: response.statusCode, text: Buffer.concat(await response.toArray()).toString() }
}
