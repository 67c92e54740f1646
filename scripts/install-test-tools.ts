/** What the tests need beyond npm packages: installed here on Debian as root, or else named. */
import { installTools } from './install-tools.ts'

installTools({ curl: 'curl', chromium: 'chromium', h2load: 'nghttp2-client' }, 'the tests')
