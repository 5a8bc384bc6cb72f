/**
 * Injects the sidecar as an initializer: the API server hides a new pod until the initializers in its metadata
 * have removed their names in order. Kubernetes had this between 1.7 and 1.13; k8ts still has it, with
 * `--enable-admission-plugins=Initializers`.
 */
import { configMaps, pods, type Pod } from 'k8ts/api/core/v1'
import { isApiError } from 'k8ts/api/errors'
import { formatKey, type ObjectMeta } from 'k8ts/api/metadata'
import type { Controller } from 'k8ts/controller'
import type { Operator } from 'k8ts/controller/operator'
import { planSidecar, readTemplate, templateKey, type SidecarTemplate } from './sidecar.ts'

/** As in the InitializerConfiguration. */
const initializerName = 'sidecar.injector.example.com'

/** Only the leader writes to pods. */
export function initializerInjector(): Operator {
  return { name: 'sidecar-initializer', controllers: [initializerController] }
}

const initializerController: Controller = {
  name: 'sidecar-initializer-controller',
  setUp: ({ informer, enqueue }) => {
    const { namespace, name } = templateKey
    const templates = informer(configMaps, { namespace, fieldSelector: `metadata.name=${name}` })
    const uninitialized = informer(pods, { includeUninitialized: true })
    uninitialized.addEventHandler(key => enqueue(key))
    return async ({ key, client, signal }) => {
      const pod = uninitialized.get(key)
      if (pod === undefined || !isOurTurn(pod)) return
      const configMap = templates.get(formatKey(templateKey))
      // The pod is requeued with backoff, and stays hidden until there is a template.
      if (configMap === undefined) throw new Error(`ConfigMap ${formatKey(templateKey)} does not exist`)
      const patch = initializedPatch(pod, planSidecar(pod, readTemplate(configMap)))
      try {
        await client.patch(pods, pod.metadata, { type: 'strategic', patch }, { signal })
      } catch (error) {
        // The pod was deleted while it waited.
        if (!isApiError(error, 'NotFound')) throw error
      }
    }
  },
}

type InitializedMeta = ObjectMeta & {
  readonly initializers?: { readonly pending: readonly { readonly name: string }[] }
}

/** Only the first pending initializer may act. */
function isOurTurn({ metadata }: Pod): boolean {
  const { initializers }: InitializedMeta = metadata
  return initializers?.pending[0]?.name === initializerName
}

/**
 * A strategic merge patch, which adds to the lists of the pod: it holds whatever other changes are made between
 * reading and writing.
 */
function initializedPatch({ spec }: Pod, sidecar: SidecarTemplate | undefined): object {
  const initializers = { pending: [{ $patch: 'delete', name: initializerName }] }
  if (sidecar === undefined) return { metadata: { initializers } }
  const order = [...sidecar.initContainers, ...(spec?.initContainers ?? [])].map(({ name }) => ({ name }))
  return { metadata: { initializers }, spec: { ...sidecar, '$setElementOrder/initContainers': order } }
}
