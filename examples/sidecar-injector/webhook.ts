/** Injects the sidecar with a mutating admission webhook. */
import { configMaps, type Pod } from 'k8ts/api/core/v1'
import { formatKey } from 'k8ts/api/metadata'
import type { Controller } from 'k8ts/controller'
import type { Operator, OperatorWebhooks } from 'k8ts/controller/operator'
import { admissionWebhook } from 'k8ts/controller/webhooks'
import { injectSidecar, planSidecar, readTemplate, templateKey, type SidecarTemplate } from './sidecar.ts'

export interface WebhookInjectorOptions extends Pick<Operator, 'listen'> {
  /** How the API server reaches the webhook; default the Service `sidecar-injector`. */
  readonly target?: Pick<OperatorWebhooks, 'service' | 'url'>
}

/** Every replica serves the webhook and keeps the template, so there is no leader. */
export function webhookInjector({ target, ...options }: WebhookInjectorOptions = {}): Operator {
  let template: SidecarTemplate | undefined
  const inject = admissionWebhook<Pod>({
    path: '/inject',
    review: ({ object: pod }) => {
      // The API server applies the failurePolicy.
      if (template === undefined) throw new Error(`ConfigMap ${formatKey(templateKey)} is not read yet`)
      const sidecar = pod ? planSidecar(pod, template) : undefined
      return pod && sidecar ? { allowed: true, object: injectSidecar(pod, sidecar) } : { allowed: true }
    },
  })
  const keepTemplate = templateController(current => {
    template = current
  })
  return {
    ...options,
    name: 'sidecar-injector',
    controllers: [keepTemplate],
    leaderElection: 'none',
    webhooks: { ...target, hooks: [inject] },
  }
}

/** Calls back with each new template. */
function templateController(onTemplate: (template: SidecarTemplate) => void): Controller {
  return {
    name: 'sidecar-template-controller',
    setUp: ({ informer, enqueue }) => {
      const { namespace, name } = templateKey
      const templates = informer(configMaps, { namespace, fieldSelector: `metadata.name=${name}` })
      templates.addEventHandler(key => enqueue(key))
      return async ({ key }) => {
        const configMap = templates.get(key)
        // The last template remains in use when the ConfigMap is deleted or cannot be read.
        if (configMap !== undefined) onTemplate(readTemplate(configMap))
      }
    },
  }
}
