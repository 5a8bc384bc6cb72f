/** The control plane of a host in one of two forms: processes of the host, or static pods of its kubelet. */
import type { FlagValues } from '#/base/flags.ts'
import { enumFlag } from '#/base/flags.ts'
import { ensureControlPlaneImage } from '#/cluster/control-plane-image.ts'
import {
  processLogPath,
  removeHostProcessRecord,
  writeHostProcessRecord,
} from '#/cluster/host-process-records.ts'
import { readImageState } from '#/cluster/image-state.ts'
import { nodeFolders } from '#/cluster/node-folders.ts'
import { manifestPath, writeManifest } from '#/cluster/static-pod-manifests.ts'
import type { HostProcess } from '#/kubeadm/host-processes.ts'
import type { InitSettings } from '#/kubeadm/init-settings.ts'
import { planStaticPod, staticPodNames, type ControlPlaneForm } from '#/kubeadm/static-pod.ts'
import { connectHttp, loadGrpc, nodeLinux, programPaths, type Platform } from '#/platform/node.ts'
import manifest from '../../package.json' with { type: 'json' }

const forms = ['process', 'static-pod'] as const satisfies readonly ControlPlaneForm[]

export const controlPlaneFlags = {
  'control-plane-as': enumFlag(
    forms,
    'whether API server, controller manager, scheduler and etcd are processes or pods of the kubelet (process)',
  ),
}

export interface ControlPlaneHostOptions {
  readonly platform: Platform
  readonly settings: InitSettings
  readonly flags: FlagValues<typeof controlPlaneFlags>
  /** Of the other hosts of the cluster. */
  readonly usual?: ControlPlaneForm | undefined
}

export class ControlPlaneHost {
  readonly #options: ControlPlaneHostOptions
  #image: Promise<string> | undefined

  constructor(options: ControlPlaneHostOptions) {
    this.#options = options
  }

  /** That of the flag, or what the host has already. */
  async form(): Promise<ControlPlaneForm> {
    const { platform, settings, flags, usual = 'process' } = this.#options
    const { 'control-plane-as': given } = flags
    if (given !== undefined) return given
    const paths = staticPodNames.map(name => manifestPath(settings.folder, name))
    const found = await Promise.all(paths.map(path => platform.files.stat(path)))
    return found.some(status => status !== undefined) ? 'static-pod' : usual
  }

  /** Makes the image before the kubelet starts, which then need not wait for it. */
  async prepare(): Promise<void> {
    if ((await this.form()) === 'static-pod') await this.#ensureImage()
  }

  /** A component that has the other form takes this one. Resolves to the form. */
  async write(processes: readonly HostProcess[]): Promise<ControlPlaneForm> {
    const { platform, settings } = this.#options
    const { files } = platform
    const { folder } = settings
    const form = await this.form()
    if (form === 'process') {
      for (const process of processes) {
        await files.remove(manifestPath(folder, process.name))
        await writeHostProcessRecord(files, folder, process)
      }
      return form
    }
    const image = await this.#ensureImage()
    await this.#untilImported(image)
    for (const process of processes) {
      await removeHostProcessRecord(files, folder, process.name)
      const pod = planStaticPod(process, { ...settings, image })
      // The kubelet would make them readable for all users.
      for (const { hostPath } of pod.spec?.volumes ?? [])
        if (hostPath?.type === 'DirectoryOrCreate') await files.makeFolder(hostPath.path, { mode: 0o700 })
      await writeManifest(files, folder, pod)
    }
    return form
  }

  #ensureImage(): Promise<string> {
    this.#image ??= this.#makeImage()
    return this.#image
  }

  async #makeImage(): Promise<string> {
    const { platform, settings } = this.#options
    return ensureControlPlaneImage({
      platform,
      linux: await nodeLinux(),
      folder: nodeFolders(settings.folder).images,
      program: { version: manifest.version, ...programPaths() },
      hasEtcd: settings.etcd.type === 'local',
    })
  }

  /** A pod whose image is not there is retried late. The kubelet imports the image when it starts, or soon. */
  async #untilImported(image: string): Promise<void> {
    const { platform, settings } = this.#options
    const { folder } = settings
    for (let attempt = 0; attempt < importAttemptsMax; attempt++) {
      const state = await readImageState({ platform, loadGrpc, connectHttp, folder }, image)
      if (state !== 'absent') return
      await platform.clock.sleep(importPollMs)
    }
    const log = processLogPath(folder, 'kubelet')
    throw new Error(`the kubelet has not imported the image ${image}: see ${log}`)
  }
}

const importPollMs = 200
const importAttemptsMax = 300
