/** The container runtime with its calls counted and timed, under the operation names of upstream's kubelet. */
import type { ContainerRuntime } from '#/cri/cri.ts'
import type { Clock } from '#/platform/platform.ts'
import type { KubeletMetrics } from './kubelet-metrics.ts'

const operations: Readonly<Partial<Record<keyof ContainerRuntime, string>>> = {
  version: 'version',
  status: 'status',
  runPodSandbox: 'run_podsandbox',
  stopPodSandbox: 'stop_podsandbox',
  removePodSandbox: 'remove_podsandbox',
  podSandboxStatus: 'podsandbox_status',
  listPodSandbox: 'list_podsandbox',
  createContainer: 'create_container',
  startContainer: 'start_container',
  stopContainer: 'stop_container',
  removeContainer: 'remove_container',
  containerStatus: 'container_status',
  listContainers: 'list_containers',
  updateContainerResources: 'update_container',
  reopenContainerLog: 'reopen_container_log',
  execSync: 'exec_sync',
  exec: 'exec',
  attach: 'attach',
  portForward: 'port_forward',
  listContainerStats: 'list_container_stats',
  listImages: 'list_images',
  imageStatus: 'image_status',
  pullImage: 'pull_image',
  removeImage: 'remove_image',
  imageFsInfo: 'image_fs_info',
}

type Call = (...parameters: unknown[]) => Promise<unknown>

export function measuredRuntime(
  runtime: ContainerRuntime,
  { runtime: metrics }: KubeletMetrics,
  clock: Clock,
): ContainerRuntime {
  const measured = new Map<string | symbol, Call>(
    Object.entries(operations).map(([name, operation]) => {
      const call: Call = async (...parameters) => {
        const beganMs = clock.monotonicMs()
        metrics.operations.with(operation).add()
        try {
          const method: unknown = Reflect.get(runtime, name, runtime)
          return await Reflect.apply(method as Call, runtime, parameters)
        } catch (error) {
          metrics.errors.with(operation).add()
          throw error
        } finally {
          metrics.duration.with(operation).observe((clock.monotonicMs() - beganMs) / 1_000)
        }
      }
      return [name, call]
    }),
  )
  return new Proxy(runtime, {
    get: (own, name) => {
      const call = measured.get(name)
      if (call !== undefined) return call
      const value: unknown = Reflect.get(own, name, own)
      return typeof value === 'function' ? value.bind(own) : value
    },
  })
}
