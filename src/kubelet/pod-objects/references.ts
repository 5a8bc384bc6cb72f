/** Names of the ConfigMaps and Secrets referenced by a pod, all in its namespace. */
import type { Container, Pod, Volume } from '#/api/generated/core/v1.ts'
import { containersOf } from '../pod-containers.ts'

export interface References {
  readonly configMaps: ReadonlySet<string>
  readonly secrets: ReadonlySet<string>
}

interface Found {
  readonly configMap?: string | undefined
  readonly secret?: string | undefined
}

export function referencesOf(pod: Pod): References {
  const { volumes = [], imagePullSecrets = [] } = pod.spec ?? {}
  const found: readonly Found[] = [
    ...imagePullSecrets.map(({ name }) => ({ secret: name })),
    ...volumes.flatMap(ofVolume),
    ...containersOf(pod).flatMap(({ container }) => ofContainer(container)),
  ]
  const names = (key: keyof Found): ReadonlySet<string> => new Set(found.flatMap(each => each[key] || []))
  return { configMaps: names('configMap'), secrets: names('secret') }
}

function ofVolume({ configMap, secret, projected }: Volume): readonly Found[] {
  const sources = projected?.sources ?? []
  return [
    { configMap: configMap?.name, secret: secret?.secretName },
    ...sources.map(source => ({ configMap: source.configMap?.name, secret: source.secret?.name })),
  ]
}

function ofContainer({ env = [], envFrom = [] }: Container): readonly Found[] {
  return [
    ...env.map(({ valueFrom }) => ({
      configMap: valueFrom?.configMapKeyRef?.name,
      secret: valueFrom?.secretKeyRef?.name,
    })),
    ...envFrom.map(({ configMapRef, secretRef }) => ({
      configMap: configMapRef?.name,
      secret: secretRef?.name,
    })),
  ]
}
