import type { ComponentType, JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { errorText } from '../data/api-error.ts'
import { Notice } from './notice.tsx'

export interface LazyProps<P extends object> {
  /** The same function loads the same component. */
  readonly load: () => Promise<ComponentType<P>>
  readonly props: P
}

/** A component whose code is loaded when it is first shown. */
export function Lazy<P extends object>({ load, props }: LazyProps<P>): JSX.Element {
  const [loaded, setLoaded] = useState<{ readonly load: typeof load; readonly component: ComponentType<P> }>()
  const [message, setMessage] = useState<string>()
  useEffect(() => {
    let isCurrent = true
    setMessage(undefined)
    void load().then(
      component => isCurrent && setLoaded({ load, component }),
      (error: unknown) => isCurrent && setMessage(errorText(error)),
    )
    return () => {
      isCurrent = false
    }
  }, [load])
  if (message !== undefined) {
    return (
      <Notice
        tone="bad"
        title="This part of the console did not load"
        detail={`${message}. Reload the page.`}
      />
    )
  }
  if (loaded?.load !== load) return <Notice tone="busy" title="Loading" />
  const Component = loaded.component
  return <Component {...props} />
}
