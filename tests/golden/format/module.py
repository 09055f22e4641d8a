"""Python around TVMScript is left   alone."""
import  numpy   as np
from tvm.script import tir as T

CONSTANT = { 'a':1 }
class Helper( object ):
  def run(self,x):
      return   x


  @T.prim_func
  def inside( a:T.handle ):
      A=T.match_buffer(a,(16,))
      T.evaluate( 0 )



def matmul( M,N ):
  @T.prim_func
  def main( a:T.handle ) :
    A = T.match_buffer( a,(M,N),'float32' )
    for i in range( M ):
      for j in range( N ):
        A[ i,j ] = 0
  return   main
@ls.schedule( matmul )
def s( sch ):
  sch.get_block( 'a' )
def t( sch:tir.Schedule ):
  sch.get_block( 'a' )
if __name__=='__main__':
    print( matmul( 1,2 ) )
