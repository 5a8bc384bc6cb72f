import type { Kustomization } from '../load/kustomization.ts'
import type { Loader } from '../load/loader.ts'
import type { Origin } from '../resources/origin.ts'
import type { KindSchemas } from '../transformers/merge-schema.ts'

/** What all kustomizations of a build share. */
export interface Build {
  readonly warn: (message: string) => void
  /** From the first kustomization that names an OpenAPI document, or those of Kubernetes. */
  schemas: KindSchemas | undefined
}

/** A kustomization with its folder. */
export interface Target {
  readonly build: Build
  readonly loader: Loader
  readonly kustomization: Kustomization
  readonly fileName: string
  /** The path of the folder from that of the build; undefined if origins are not recorded. */
  readonly origin: Origin | undefined
}
