/** The API classes of `@kubernetes/client-node`, with their methods by name. */
import * as k8s from '@kubernetes/client-node'

export interface ApiClass {
  readonly name: string
  /** `listNamespacedPod` and similar. */
  readonly methods: readonly string[]
  call(method: string, parameters?: object, options?: k8s.ConfigurationOptions): Promise<unknown>
}

/** The classes with a matching name, each as a client of the cluster. */
export function apiClasses(config: k8s.KubeConfig, name: RegExp): readonly ApiClass[] {
  const classes = Object.entries(k8s).filter(([key]) => name.test(key)) as [string, Constructor][]
  return classes.map(([key, type]) => {
    const client = config.makeApiClient(type) as Record<string, Method>
    return {
      name: key,
      methods: Object.getOwnPropertyNames(type.prototype).filter(method => !method.endsWith('WithHttpInfo')),
      async call(method, parameters = {}, options = {}) {
        return client[method]!(parameters, options)
      },
    }
  })
}

/** The name of the class for a group and version: `AppsV1Api`, `RbacAuthorizationV1Api`. */
export function classNameOf(apiVersion: string): string {
  const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['core', apiVersion]
  const words = [...group!.replace(/\.k8s\.io$/, '').split('.'), version!]
  return `${words.map(word => word.charAt(0).toUpperCase() + word.slice(1)).join('')}Api`
}

type Constructor = k8s.ApiConstructor<k8s.ApiType> & { readonly prototype: object }

type Method = (parameters: object, options: k8s.ConfigurationOptions) => Promise<unknown>
