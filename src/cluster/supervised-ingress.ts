/**
 * The process of the Ingress controller on this machine. It is started at the first object that it has to
 * serve, so that a cluster without Ingresses pays only for one watch of metadata.
 */
import { join } from 'node:path'
import type { IngressClass } from '#/api/generated/networking/v1.ts'
import { ingressClasses, ingresses } from '#/api/generated/networking/v1-resources.ts'
import { keyOf, parseKey, type NamespacedName } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import { customResourceDefinitions } from '#/api/generated/apiextensions/v1-resources.ts'
import { LinkedAbort, untilAborted } from '#/base/abort.ts'
import type { Backoff } from '#/base/backoff.ts'
import type { Client } from '#/client/client.ts'
import { EventRecorder } from '#/client/event-recorder.ts'
import { Informer } from '#/client/informer.ts'
import { WorkQueue } from '#/client/workqueue.ts'
import { retryUntilDone } from '#/component-base/retry-until-done.ts'
import { ensureGatewayRbac } from '#/gateway/ensure-gateway.ts'
import { servedGatewayClasses } from '#/gateway/served-gateway-classes.ts'
import { ensureIngressClass, ensureIngressRbac, ingressServiceAccount } from '#/ingress/ensure-ingress.ts'
import { ingressClassName, isServed } from '#/ingress/plan-ingresses.ts'
import type { CertificateAuthority } from '#/kubeadm/certificates.ts'
import { ingressController } from '#/kubeadm/identities.ts'
import { ensureKubeconfigFile } from '#/kubeadm/kubeconfig-file.ts'
import type { Platform, Process, ProcessExit } from '#/platform/platform.ts'
import { processLogPath } from './host-process-records.ts'
import type { HostProcessState } from './lock-folder.ts'
import { SupervisedProcess } from './supervised-process.ts'

export interface SupervisedIngressOptions {
  readonly platform: Platform
  readonly crypto: Crypto
  /** Folder of the cluster. */
  readonly folder: string
  /** Has administrator rights. */
  readonly client: Client
  readonly ca: CertificateAuthority
  /** URL of the API server. */
  readonly server: string
  readonly nodeName: string
  /** Of the node. */
  readonly address: string
  readonly httpPort: number
  readonly httpsPort: number
  /** The command that runs this program. */
  readonly program: readonly string[]
  /** Starts the process; Ingresses and GatewayClasses when absent. */
  readonly triggers?: readonly IngressTrigger[]
}

/** Objects whose existence starts the process. */
export interface IngressTrigger {
  readonly resource: Resource
  /** Name of the CustomResourceDefinition of the resource, which is not watched while there is none. */
  readonly definition?: string
  /** Reads the object, of which only the metadata was watched. */
  readonly isServed: (client: Client, key: NamespacedName) => Promise<boolean>
}

/** Longer than the process drains, and shorter than `k8ts up` may take to stop. */
const stopMs = 8_000

const drainSeconds = 4

const ensureRetry: Backoff = { initialMs: 500, maxMs: 30_000, factor: 2, jitter: 0.1 }

export class SupervisedIngress {
  readonly #options: SupervisedIngressOptions
  readonly #events: EventRecorder
  readonly #process: SupervisedProcess
  readonly #logPath: string
  #isStarted = false

  constructor(options: SupervisedIngressOptions) {
    const { platform, client, folder } = options
    this.#options = options
    this.#logPath = processLogPath(folder, processName)
    this.#events = new EventRecorder({ platform, client, component: 'k8ts' })
    this.#process = new SupervisedProcess({
      platform,
      fields: { process: processName },
      logPath: this.#logPath,
      stopMs,
      start: () => this.#startProcess(),
      onExit: exit => this.#exited(exit),
    })
  }

  /** Undefined until there has been something to serve. */
  get state(): HostProcessState | undefined {
    if (!this.#isStarted) return undefined
    return { name: processName, pid: this.#process.pid, restarts: this.#process.restarts }
  }

  /** Resolves when the process has stopped. */
  async run(signal: AbortSignal): Promise<void> {
    const stopping = new AbortController()
    const recording = this.#events.run(stopping.signal)
    if (await this.#ensure(signal)) {
      await this.#waitForObject(signal)
      if (!signal.aborted) this.#start()
      await untilAborted(signal)
      if (this.#isStarted) await this.#process.stop('SIGTERM')
    }
    stopping.abort()
    await recording
  }

  /** False if aborted. */
  async #ensure(signal: AbortSignal): Promise<boolean> {
    const { client, platform } = this.#options
    const ensure = async (): Promise<boolean> => {
      await ensureIngressRbac(client)
      await ensureGatewayRbac(client, { namespace: 'kube-system', name: ingressServiceAccount })
      await ensureIngressClass(client)
      return true
    }
    const onFailure = (error: unknown): void => {
      platform.log.warn('Failed to create the objects of the Ingress controller, will retry', { error })
    }
    const options = { platform, backoff: ensureRetry, onFailure }
    return retryUntilDone(ensure, options, signal).catch(() => false)
  }

  /** Resolves when an object has to be served, or when aborted. */
  async #waitForObject(signal: AbortSignal): Promise<void> {
    const { platform, client, triggers = [ingressTrigger, servedGatewayClasses] } = this.#options
    const found = new AbortController()
    const ended = AbortSignal.any([signal, found.signal])
    const queue = new WorkQueue({ platform, name: 'ingress-trigger' })
    const informers = triggers.map(async ({ resource, definition }, index) => {
      if (definition !== undefined) await this.#waitForDefinition(definition, ended)
      if (ended.aborted) return
      const informer = new Informer({ platform, client, resource, selection: { metadataOnly: true } })
      informer.addEventHandler((_key, { newObject }) => {
        if (newObject) queue.add(`${index} ${keyOf(newObject)}`)
      })
      await informer.run(ended)
    })
    const reconcile = async (item: string): Promise<void> => {
      const [index, key = ''] = item.split(' ')
      if (await triggers[Number(index)]!.isServed(client, parseKey(key))) found.abort()
    }
    await Promise.all([...informers, queue.run({ workers: 1, signal: ended, reconcile })])
  }

  async #waitForDefinition(name: string, signal: AbortSignal): Promise<void> {
    const { platform, client } = this.#options
    using stopping = new LinkedAbort(signal)
    const selection = { metadataOnly: true, fieldSelector: `metadata.name=${name}` }
    const informer = new Informer({ platform, client, resource: customResourceDefinitions, selection })
    informer.addEventHandler((_key, { newObject }) => {
      if (newObject) stopping.abort(new Error('the definition exists'))
    })
    await informer.run(stopping.signal)
  }

  #start(): void {
    this.#isStarted = true
    this.#process.start()
  }

  async #startProcess(): Promise<Process> {
    const { platform, crypto, folder, ca, server, nodeName, address, httpPort, httpsPort, program } =
      this.#options
    const { files } = platform
    const path = join(folder, 'ingress.conf')
    await ensureKubeconfigFile({ platform, crypto, path, ca, server, identity: ingressController })
    await files.makeFolder(join(folder, 'logs'), { mode: 0o700 })
    const flags = [
      `--kubeconfig=${path}`,
      `--bind-address=${address}`,
      `--node-name=${nodeName}`,
      `--http-port=${httpPort}`,
      `--https-port=${httpsPort}`,
      `--drain-seconds=${drainSeconds}`,
    ]
    const script = 'log=$1; shift; (umask 077; : >>"$log"); exec "$@" >>"$log" 2>&1'
    const command = ['sh', '-c', script, 'sh', this.#logPath, ...program, 'ingress', ...flags]
    return platform.processes.start(command, { environment: { K8TS_OUTPUT_FILE: this.#logPath } })
  }

  #exited(exit: ProcessExit): void {
    const how = 'code' in exit ? `with code ${exit.code}` : `by ${exit.signal}`
    const about = {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'IngressClass',
      metadata: { name: ingressClassName },
    }
    const message = `process of the Ingress controller ended ${how} and is restarted: see ${this.#logPath}`
    this.#events.record(about, { type: 'Warning', reason: 'BackOff', message })
  }
}

const processName = 'ingress'

const ingressTrigger: IngressTrigger = {
  resource: ingresses,
  isServed: async (client, at) => {
    const ingress = await client.find(ingresses, at)
    if (ingress === undefined) return false
    const classes: readonly IngressClass[] = (await client.listAll(ingressClasses)).items
    return isServed(ingress, classes)
  },
}
