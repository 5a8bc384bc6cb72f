/**
 * Sets the default ingress class on Ingresses that name none.
 * https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#defaultingressclass
 */
import type { Ingress } from '#/api/generated/networking/v1.ts'
import { ingressClasses } from '#/api/generated/networking/v1-resources.ts'
import { matchesResource, type AdmissionPlugin } from '../admission-chain.ts'
import { defaultClass } from './default-class.ts'
import { CachedDerivation } from '../cached-derivation.ts'
import type { PluginContext } from '../plugin-context.ts'

export function defaultIngressClass({ cache }: PluginContext): AdmissionPlugin {
  const chosen = new CachedDerivation(cache, ingressClasses, classes => defaultClass(classes, [marker]))
  return {
    name: 'DefaultIngressClass',
    handles: target =>
      target.operation === 'CREATE' && matchesResource(target, 'ingresses.networking.k8s.io'),
    mutate: ({ object }) => {
      const ingress = object as Ingress
      const isChosen =
        ingress.spec?.ingressClassName !== undefined ||
        ingress.metadata.annotations?.[oldAnnotation] !== undefined
      if (isChosen) return ingress
      const name = chosen.value?.metadata.name
      if (name === undefined) return ingress
      const classed: Ingress = { ...ingress, spec: { ...ingress.spec, ingressClassName: name } }
      return classed
    },
  }
}

const marker = 'ingressclass.kubernetes.io/is-default-class'
const oldAnnotation = 'kubernetes.io/ingress.class'
