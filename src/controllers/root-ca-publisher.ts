/**
 * Publishes the cluster's CA certificate as the `kube-root-ca.crt` ConfigMap in every namespace, for use by
 * pods.
 */
import { isApiError } from '#/api/errors.ts'
import { configMaps, namespaces } from '#/api/generated/core/v1-resources.ts'
import { isBeingDeleted } from '#/api/metadata.ts'
import type { Controller } from './controller.ts'

const name = 'kube-root-ca.crt'

export interface RootCaPublisherSettings {
  /** PEM. */
  readonly caCertificate: string
}

export function rootCaPublisherController({ caCertificate }: RootCaPublisherSettings): Controller {
  return {
    name: 'root-ca-certificate-publisher-controller',
    account: 'root-ca-cert-publisher',
    setUp: ({ informer, enqueue }) => {
      const spaces = informer(namespaces)
      const maps = informer(configMaps, { fieldSelector: `metadata.name=${name}` })
      spaces.addEventHandler((key, { oldObject, newObject }) => {
        if (newObject !== undefined && oldObject === undefined) enqueue(key)
      })
      maps.addEventHandler(key => enqueue(key.slice(0, key.indexOf('/'))))
      return async ({ key: namespace, client, signal }) => {
        const space = spaces.get(namespace)
        if (space === undefined || isBeingDeleted(space)) return
        const known = maps.get(`${namespace}/${name}`)
        if (known?.data?.['ca.crt'] === caCertificate && Object.keys(known.data).length === 1) return
        const data = { 'ca.crt': caCertificate }
        try {
          if (known === undefined) {
            const metadata = { namespace, name, annotations: { 'kubernetes.io/description': description } }
            await client.create(configMaps, { metadata, data }, { signal })
          } else await client.update(configMaps, { ...known, data }, { signal })
        } catch (error) {
          // It exists but the informer does not show it yet, or the namespace is gone.
          if (!isApiError(error, 'AlreadyExists') && !isApiError(error, 'NotFound')) throw error
        }
      }
    },
  }
}

/** Upstream's text of the `kubernetes.io/description` annotation. */
const description =
  'Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as ' +
  'the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of ' +
  'Kubernetes clusters.'
